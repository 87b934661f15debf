//! Results that go to files, or to standard output by the name `-`.

use std::io::{self, Write};
use std::path::Path;

use crate::failure::Failure;
use crate::lab::write_file;

/// Whether a path stands for standard output. Opening that a second time would let the two overwrite each other.
pub(super) fn is_output(path: impl AsRef<Path>) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path.as_ref() == Path::new(name))
}

/// Writes a file, or to standard output, which is `out`.
pub(super) fn write_to(path: impl AsRef<Path>, contents: &[u8], out: &mut dyn Write) -> Result<(), Failure> {
    if is_output(&path) {
        return Ok(out.write_all(contents)?);
    }
    write_file(path.as_ref(), contents).map_err(Failure::failed)
}

/// Where the summary goes: to standard output, or, if data go there, to standard error.
pub(super) fn summary<'a>(data_on_output: bool, out: &'a mut dyn Write) -> Box<dyn Write + 'a> {
    if data_on_output { Box::new(io::stderr()) } else { Box::new(out) }
}

/// Whether at most one of these options writes to standard output; data of two kinds would be mixed there.
pub(super) fn check_one_output<'a>(
    outputs: impl IntoIterator<Item = (&'a str, Option<&'a Path>)>,
) -> Result<bool, Failure> {
    let mut found: Option<&str> = None;
    for (option, path) in outputs {
        if !path.is_some_and(is_output) {
            continue;
        }
        if let Some(other) = found {
            let message = format!("`{other}` and `{option}` both write to standard output: give one of them a file");
            return Err(Failure::BadInput(message));
        }
        found = Some(option);
    }
    Ok(found.is_some())
}
