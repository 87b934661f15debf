//! Input: files, and standard input under the name `-`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

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

/// The bytes of a file, up to a limit; of standard input if the path is `-`. Standard input can be read once only, so its bytes are kept for
/// further calls with the same purpose, `what`, such as `the network`.
///
/// # Errors
/// If the operating system cannot read them, or standard input was read as something else.
pub fn read_input(path: impl AsRef<Path>, what: &'static str, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if !is_standard_input(&path) {
        // A pipe or a device has no length to ask for.
        File::open(path)?.take(most).read_to_end(&mut bytes)?;
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
