//! Commands as they are typed, for readers on other machines.

use std::path::{Component, Path};

/// A command as it is typed: words that a shell would take apart or change are quoted.
pub fn shell_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    // Only a word with a NUL character cannot be quoted, and none can be an argument.
    words.into_iter().map(|word| shlex::try_quote(word).unwrap_or(word.into())).collect::<Vec<_>>().join(" ")
}

/// A path as a page shows it: below the current folder as it is, and otherwise its last name only, for the folders of the machine that
/// made the page mean nothing to its readers.
///
/// ```
/// use std::path::Path;
/// use wormcast_lab::report::shown_path;
///
/// assert_eq!(shown_path(Path::new("experiments/quick.toml")), "experiments/quick.toml");
/// assert_eq!(shown_path(Path::new("/home/somebody/quick.toml")), "quick.toml");
/// ```
pub fn shown_path(path: &Path) -> String {
    let below = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    match path.file_name() {
        Some(name) if !below => name.to_string_lossy().into_owned(),
        Some(_) => path.display().to_string(),
        None => ".".to_owned(),
    }
}

/// A path as an argument of a command: one that begins with a hyphen must not be taken for an option.
///
/// ```
/// use std::path::Path;
///
/// use wormcast_lab::report::argument;
///
/// assert_eq!(argument(Path::new("-x.toml")), "./-x.toml");
/// assert_eq!(argument(Path::new("x.toml")), "x.toml");
/// assert_eq!(argument(Path::new("-")), "-", "standard input");
/// ```
pub fn argument(path: &Path) -> String {
    match path.display().to_string() {
        name if name.starts_with('-') && name != "-" => format!("./{name}"),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_typed() {
        assert_eq!(
            shell_line(["wormcast", "sweep", "my file.toml", "--set", "a=[1, 2]"]),
            "wormcast sweep 'my file.toml' --set 'a=[1, 2]'"
        );
    }
}
