//! Writes files so that the old file or the new one stays, never half of one.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use tempfile::NamedTempFile;
use thiserror::Error;

/// The endings of files that are of one kind, whatever writes them.
const OF_ONE_KIND: [&str; 12] =
    ["png", "pdf", "jpg", "jpeg", "gif", "html", "md", "svg", "csv", "json", "jsonl", "toml"];

/// The ending of a file's name, in small letters, if files that end so are of one kind, which no other kind should be called like.
pub fn ending_of_one_kind(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    OF_ONE_KIND.into_iter().find(|known| known.eq_ignore_ascii_case(ending))
}

/// A file cannot be written.
#[derive(Debug, Error)]
#[error("cannot write `{path}`: {reason}")]
pub struct OutputError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// What the operating system said.
    pub reason: std::io::Error,
}

/// Writes a file: first under another name beside it, which then takes its place. What a link points to is replaced, not the
/// link; a device or a pipe is written to directly.
///
/// # Errors
/// If the directory does not exist or is not writable, or there is no space; the file is then what it was.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), OutputError> {
    let mut file = OutputFile::create(path)?;
    let written = file.write_all(contents);
    written.map_err(|reason| OutputError { path: path.to_owned(), reason })?;
    file.finish()
}

/// A file that is written piece by piece, as [`write_file`] writes one at once: it takes its place when it is
/// [finished](Self::finish), and until then the old file stays. Pieces are not buffered.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    /// A temporary file that replaces `target` when it is finished.
    Beside {
        temporary: NamedTempFile,
        target: PathBuf,
    },
    Stream(File),
}

impl OutputFile {
    /// Begins a file.
    ///
    /// # Errors
    /// If the directory does not exist or is not writable, or the file is a directory.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let writer = Target::of(path).and_then(|target| match target {
            Target::File(target) => Ok(Writer::Beside { temporary: locked_beside(&target)?, target }),
            Target::Stream => File::options().write(true).open(path).map(Writer::Stream),
        });
        let writer = writer.map_err(|reason| OutputError { path: path.to_owned(), reason })?;
        Ok(Self { path: path.to_owned(), writer })
    }

    /// Replaces the old file. Several processes may do so at the same time: one of their files stays.
    ///
    /// # Errors
    /// If there is no space, or the directory is not what it was; the old file then stays.
    pub fn finish(self) -> Result<(), OutputError> {
        let finished = match self.writer {
            Writer::Stream(mut stream) => stream.flush(),
            Writer::Beside { temporary, target } => temporary.as_file().sync_all().and_then(|()| {
                temporary.persist(&target)?;
                remove_forgotten(&target);
                Ok(())
            }),
        };
        finished.map_err(|reason| OutputError { path: self.path, reason })
    }
}

impl OutputFile {
    /// Puts what there is of a file that stays incomplete beside the old file, which stays, under its name with `.partial` at the end.
    /// Gives that name; `None` for a device or a pipe, which has everything already.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_partial(self) -> Result<Option<PathBuf>, OutputError> {
        let Self { path, writer } = self;
        let writer = match writer {
            Writer::Stream(stream) => Writer::Stream(stream),
            Writer::Beside { temporary, mut target } => {
                target.as_mut_os_string().push(PARTIAL_SUFFIX);
                Writer::Beside { temporary, target }
            }
        };
        let mut beside = path.clone();
        beside.as_mut_os_string().push(PARTIAL_SUFFIX);
        let partial = match &writer {
            Writer::Stream(_) => None,
            // As it was given, unless that is a link to it.
            Writer::Beside { target, .. } if target.file_name() == beside.file_name() => Some(beside),
            Writer::Beside { target, .. } => Some(target.clone()),
        };
        Self { path: partial.clone().unwrap_or(path), writer }.finish().map(|()| partial)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.writer {
            Writer::Beside { temporary, .. } => temporary.as_file_mut().write(bytes),
            Writer::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Finds out whether [`write_file`] can write a file, as far as can be known before there are contents. Leaves everything as it is.
///
/// # Errors
/// If the directory does not exist or is not writable, or the file is a directory.
pub fn check_file(path: &Path) -> Result<(), OutputError> {
    let checked = Target::of(path).and_then(|target| match target {
        // It is gone at the end of the statement.
        Target::File(file) => beside(&file).map(drop),
        Target::Stream => Ok(()),
    });
    checked.map_err(|reason| OutputError { path: path.to_owned(), reason })
}

/// The file that would be written by this path: the same for all paths that lead to it, whether or not it is there. `None` for a device
/// or a pipe.
pub fn file_place(path: &Path) -> Option<PathBuf> {
    let file = match Target::of(path) {
        Ok(Target::Stream) => return None,
        Ok(Target::File(file)) => file,
        // It is a folder, or cannot be looked at.
        Err(_) => path.to_owned(),
    };
    // Of what is not there, as far as it is.
    let absolute = std::path::absolute(&file).unwrap_or(file);
    let there = absolute.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    Some(match there {
        Some((above, place)) => under(place, absolute.strip_prefix(above).unwrap_or(Path::new(""))),
        None => absolute,
    })
}

/// The place that a path leads to from another one, if nothing on its way is there yet: links cannot be.
fn under(mut place: PathBuf, path: &Path) -> PathBuf {
    for part in path.components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            Component::CurDir => {}
            part => place.push(part),
        }
    }
    place
}

/// What a path leads to.
enum Target {
    /// A file of this name, there or not.
    File(PathBuf),
    /// A device or a pipe.
    Stream,
}

impl Target {
    fn of(path: &Path) -> std::io::Result<Self> {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(metadata) if metadata.is_file() => path.canonicalize().map(Self::File),
            Ok(_) => Ok(Self::Stream),
            Err(_) => match std::fs::read_link(path) {
                // A link to a file that is not there yet; of a chain of them, the first is followed.
                Ok(target) => Ok(Self::File(path.parent().unwrap_or(Path::new("")).join(target))),
                Err(_) => Ok(Self::File(path.to_owned())),
            },
        }
    }
}

/// A new file beside another, with a lock that says that a process is writing it, where the file system knows locks.
fn locked_beside(path: &Path) -> std::io::Result<NamedTempFile> {
    loop {
        let temporary = beside(path)?;
        // Another process may take it for forgotten before it is locked, and remove it.
        let taken = matches!(temporary.as_file().try_lock(), Err(TryLockError::WouldBlock));
        if !taken && temporary.path().exists() {
            return Ok(temporary);
        }
    }
}

/// A new file beside another, under a unique name.
fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
    // Made here, it has the usual permissions, and errors are the system's own.
    let prefix = temporary_prefix(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(TEMPORARY_SUFFIX).make_in(folder(path), |path| File::create_new(path))
}

/// Removes what killed processes have left of a file. Leftovers do no harm.
fn remove_forgotten(path: &Path) {
    let prefix = temporary_prefix(path);
    let Ok(entries) = std::fs::read_dir(folder(path)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let middle = name.strip_prefix(&prefix).and_then(|name| name.strip_suffix(TEMPORARY_SUFFIX));
        let temporary = middle.is_some_and(|middle| middle.chars().all(char::is_alphanumeric));
        let Some(file) = temporary.then(|| File::open(entry.path()).ok()).flatten() else { continue };
        // The lock is kept until the file is gone, so that a process that has just made the file notices.
        if file.try_lock().is_ok() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

const TEMPORARY_SUFFIX: &str = ".tmp";

/// What the name of an incomplete file ends with.
const PARTIAL_SUFFIX: &str = ".partial";

/// How the temporary names of a file begin.
fn temporary_prefix(path: &Path) -> String {
    format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn writing_replaces_the_file_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.csv");
        check_file(&path).unwrap();
        assert!(names(directory.path()).is_empty(), "looking leaves nothing");
        write_file(&path, b"old").unwrap();
        write_file(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(names(directory.path()), ["table.csv"]);
        let error = write_file(&directory.path().join("no/table.csv"), b"x").unwrap_err();
        assert!(error.to_string().contains("no/table.csv`: ") && !error.to_string().contains(".table.csv"), "{error}");
    }

    #[test]
    fn an_incomplete_file_leaves_the_old_one_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.csv");
        for old in ["", "complete"] {
            if !old.is_empty() {
                write_file(&path, old.as_bytes()).unwrap();
            }
            let mut file = OutputFile::create(&path).unwrap();
            file.write_all(b"half of").unwrap();
            let partial = file.finish_partial().unwrap().expect("a file");
            assert!(partial.ends_with("table.csv.partial"), "{}", partial.display());
            assert_eq!(std::fs::read(&partial).unwrap(), b"half of");
            assert_eq!(std::fs::read(&path).unwrap_or_default(), old.as_bytes());
        }
        assert_eq!(names(directory.path()).len(), 2);
    }

    #[test]
    fn what_a_killed_process_has_left_is_taken_away_and_what_another_writes_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.csv");
        std::fs::write(directory.path().join(".table.csv.left.tmp"), "half of").unwrap();
        std::fs::write(directory.path().join(".other.csv.left.tmp"), "half of").unwrap();
        let busy = beside(&path).unwrap();
        busy.as_file().lock().unwrap();
        write_file(&path, b"new").unwrap();
        assert!(busy.path().exists());
        busy.persist(&path).unwrap();
        let mut names = names(directory.path());
        names.sort();
        assert_eq!(names, [".other.csv.left.tmp", "table.csv"]);
    }

    #[test]
    fn several_may_write_a_file_at_the_same_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.csv");
        std::thread::scope(|scope| {
            for writer in 0..8_u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..5 {
                        write_file(path, &vec![writer; 100_000]).unwrap();
                        let there = std::fs::read(path).unwrap();
                        assert!(
                            there.len() == 100_000 && there.iter().all(|&byte| byte == there[0]),
                            "one of them, whole"
                        );
                    }
                });
            }
        });
        assert_eq!(names(directory.path()), ["table.csv"]);
    }

    #[cfg(unix)]
    #[test]
    fn all_paths_to_a_file_are_one_place() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| file_place(&directory.path().join(name));
        std::fs::write(directory.path().join("there"), "").unwrap();
        std::fs::create_dir(directory.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("there", directory.path().join("link")).unwrap();
        std::os::unix::fs::symlink("later", directory.path().join("dangling")).unwrap();
        for (one, other) in [
            ("there", "./there"),
            ("there", "folder/../there"),
            ("there", "link"),
            ("later", "folder/../later"),
            ("later", "dangling"),
            ("no/later", "no/./later"),
        ] {
            assert_eq!(at(one), at(other), "{one} {other}");
        }
        assert_ne!(at("there"), at("later"));
        // Folders that are made first are no way round.
        assert_eq!(at("new/x.csv"), at("./new/../new/deep/.././x.csv"));
        assert_ne!(at("new/x.csv"), at("new/deep/x.csv"));
        assert_eq!(file_place(Path::new("/dev/null")), None);
    }

    #[cfg(unix)]
    #[test]
    fn files_have_the_permissions_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("table.csv"), directory.path().join("other"));
        write_file(&path, b"").unwrap();
        std::fs::write(&other, b"").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&other));
    }
}
