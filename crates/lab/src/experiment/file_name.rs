//! Names that files can have.

use wormcast_network::text::shortened;

use crate::experiment::document::QUICK;

/// The most bytes of a variation's name: file systems allow 255, and it is one part of several.
pub(crate) const MOST_BYTES: usize = 100;

/// What is wrong with the name of a variation, which is a part of names of files; `names` are those of all.
pub(crate) fn not_a_variation(name: &str, names: &[String]) -> Option<String> {
    let taken = name == QUICK
        || name
            .strip_prefix(QUICK)
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|rest| names.iter().any(|n| n == rest));
    if taken {
        return Some(format!("`{name}` cannot name a variation: files of the quick version are called so"));
    }
    let good = is_file_name(name) && name.len() <= MOST_BYTES;
    (!good).then(|| {
        format!(
            "`{}` cannot name a variation: expected a part of a file's name, such as `no-startup`",
            shortened(name, 60)
        )
    })
}

/// Whether a text can be a name for files in a folder.
///
/// ```
/// use wormcast_lab::is_file_name;
///
/// assert!(is_file_name("no-startup"));
/// assert!(!is_file_name("a/b") && !is_file_name("..") && !is_file_name(""));
/// ```
pub fn is_file_name(name: &str) -> bool {
    !(name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']) || name.contains(char::is_control))
}
