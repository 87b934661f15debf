//! Input: files, and standard input under the name `-`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

use crate::text::nearest;

/// The name that stands for standard input wherever a file is read.
pub const STANDARD_INPUT: &str = "-";

/// A file that cannot be read as text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The operating system cannot read it.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the operating system said.
        reason: String,
    },
    /// It is not text.
    #[error("{path}:{line}: the bytes are not UTF-8; expected text")]
    NotText {
        /// The file.
        path: String,
        /// The first line that is not UTF-8, from 1.
        line: usize,
    },
}

/// What standard input was read as, and what it gave.
struct Taken {
    what: &'static str,
    bytes: Vec<u8>,
}

static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

/// What messages call a file: its path, or `standard input`.
pub fn input_name(path: &str) -> &str {
    if path == STANDARD_INPUT { "standard input" } else { path }
}

/// Whether a path stands for standard input.
pub fn is_standard_input(path: impl AsRef<Path>) -> bool {
    path.as_ref() == Path::new(STANDARD_INPUT)
}

/// The file beside a path at which there is none that may be meant, as the end of a message: `; did you mean …?`, or nothing.
pub(crate) fn meant_file(path: &Path) -> String {
    let beside = || {
        let given = path.file_name()?.to_str()?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = folder.read_dir().ok()?.flatten().filter(|entry| entry.path().is_file());
        let shown = |name: &String| !name.contains(char::is_control);
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(shown).collect();
        names.sort_unstable();
        let name = nearest(given, names.iter().map(String::as_str))?;
        Some(format!("; did you mean `{}`?", path.with_file_name(name).display()))
    };
    beside().unwrap_or_default()
}

/// Opens a file to read. If there is none, the error names the one that may be meant.
fn open(path: &Path) -> io::Result<File> {
    File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(error.kind(), format!("{error}{}", meant_file(path))),
        _ => error,
    })
}

/// The bytes of a file, up to a limit; of standard input if the path is `-`. Standard input can be read once only, so its bytes are kept for
/// further calls with the same purpose, `what`, such as `the network`.
///
/// # Errors
/// If the operating system cannot read them, or standard input was read as something else.
pub fn read_input(path: impl AsRef<Path>, what: &'static str, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if !is_standard_input(&path) {
        // A pipe or a device has no length to ask for.
        open(path.as_ref())?.take(most).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(taken) = free_for(taken.as_ref(), what)? {
        return Ok(taken.bytes.clone());
    }
    io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    *taken = Some(Taken { what, bytes: bytes.clone() });
    Ok(bytes)
}

/// The lines of a file, or of standard input if the path is `-`, for a text that is read piece by piece and so may be of any length. `what` is the purpose,
/// as in [`read_input`].
///
/// # Errors
/// If the operating system cannot read it.
pub fn open_lines(path: &str, what: &'static str) -> Result<TextLines<Box<dyn BufRead>>, ReadError> {
    /// Large enough that reading costs little beside understanding.
    const BUFFER: usize = 1 << 20;
    let failed =
        |error: io::Error| ReadError::Unreadable { path: input_name(path).to_owned(), reason: error.to_string() };
    let reader: Box<dyn BufRead> = if is_standard_input(path) {
        Box::new(io::Cursor::new(read_input(path, what, u64::MAX).map_err(failed)?))
    } else {
        Box::new(BufReader::with_capacity(BUFFER, open(Path::new(path)).map_err(failed)?))
    };
    Ok(TextLines::new(path, reader))
}

/// The lines of a text, one at a time.
pub struct TextLines<R> {
    path: String,
    reader: R,
    line: Vec<u8>,
    number: usize,
}

impl<R: BufRead> TextLines<R> {
    /// The lines that a reader gives; errors name the path.
    pub fn new(path: &str, reader: R) -> Self {
        Self { path: input_name(path).to_owned(), reader, line: Vec::new(), number: 0 }
    }

    /// What comes next, without taking it: at most what the reader holds.
    ///
    /// # Errors
    /// If the operating system cannot read it.
    pub fn peek(&mut self) -> Result<&[u8], ReadError> {
        let path = &self.path;
        self.reader.fill_buf().map_err(|error| ReadError::Unreadable { path: path.clone(), reason: error.to_string() })
    }

    /// The number of the next line, from 1, and the line without blanks at both ends and without a [byte order mark](BYTE_ORDER_MARK); `None` at the end.
    ///
    /// # Errors
    /// If the operating system cannot read it, or it is not UTF-8.
    #[allow(clippy::should_implement_trait, reason = "a line is borrowed until the next one is read")]
    pub fn next(&mut self) -> Result<Option<(usize, &str)>, ReadError> {
        self.line.clear();
        let read = self.reader.read_until(b'\n', &mut self.line);
        let read =
            read.map_err(|error| ReadError::Unreadable { path: self.path.clone(), reason: error.to_string() })?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let bytes =
            if self.number == 1 { self.line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.line) } else { &self.line };
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some((self.number, text.trim()))),
            Err(_) => Err(ReadError::NotText { path: self.path.clone(), line: self.number }),
        }
    }
}

/// Reserves standard input for `what`, which reads it piece by piece; nothing else can read it then.
///
/// # Errors
/// If it was read as something else.
pub fn take_standard_input(what: &'static str) -> io::Result<()> {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    free_for(taken.as_ref(), what)?;
    *taken = Some(Taken { what, bytes: Vec::new() });
    Ok(())
}

/// What was already read, if it was for the same purpose.
fn free_for<'t>(taken: Option<&'t Taken>, what: &str) -> io::Result<Option<&'t Taken>> {
    match taken {
        Some(other) if other.what != what => {
            Err(io::Error::other(format!("standard input is {} already and cannot be {what}, too", other.what)))
        }
        same => Ok(same),
    }
}

/// The byte order mark that some editors put before the first line of a text. Readers skip it.
pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The text of a file up to a limit in bytes, without a [byte order mark](BYTE_ORDER_MARK); of standard input if the path is `-`. `what` is the purpose, as in [`read_input`].
///
/// # Errors
/// If the file cannot be read, is larger, or is not UTF-8.
pub fn read_text(path: &str, what: &'static str, most: u64) -> Result<String, ReadError> {
    let unreadable = |reason: String| ReadError::Unreadable { path: input_name(path).to_owned(), reason };
    let mut bytes = read_input(path, what, most.saturating_add(1)).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(unreadable(format!("it has more than {most} bytes, the most that are supported")));
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.split(|&byte| byte == b'\n').count();
        ReadError::NotText { path: input_name(path).to_owned(), line }
    })
}
