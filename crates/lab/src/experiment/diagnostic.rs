//! Errors in input: where, what is wrong, what was expected, and the nearest valid name.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use wormcast_network::text::{nearest, short_list};

/// An error in an experiment file or in an argument that overrides one of its settings.
///
/// [`Display`](fmt::Display) gives the one-line form, which starts with `path:line:column: `, with `path: ` if the whole file
/// is meant, or with the argument that is wrong. [`render`](Self::render) shows the place in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    path: String,
    location: Location,
    message: String,
    help: Option<String>,
}

/// Where the error is.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Location {
    /// The file as a whole.
    File,
    /// Bytes of the file's text.
    Text { text: Arc<str>, span: Range<usize> },
    /// An argument of the command line.
    Argument(String),
}

impl Diagnostic {
    /// An error that concerns the whole file.
    pub(crate) fn file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), location: Location::File, message: told(message), help: None }
    }

    /// An error at a span of the file's text; a span beyond the text is cut to it.
    pub(crate) fn text(path: &str, text: &Arc<str>, span: Range<usize>, message: impl Into<String>) -> Self {
        let start = boundary(text, span.start);
        let span = start..boundary(text, span.end).max(start);
        let location = Location::Text { text: Arc::clone(text), span };
        Self { path: path.to_owned(), location, message: told(message), help: None }
    }

    /// An error in an argument such as `--set key=value`.
    pub(crate) fn argument(path: &str, argument: &str, message: impl Into<String>) -> Self {
        let location = Location::Argument(told(argument));
        Self { path: path.to_owned(), location, message: told(message), help: None }
    }

    /// Adds advice.
    #[must_use]
    pub(crate) fn with_help(mut self, help: Option<String>) -> Self {
        self.help = help.map(told);
        self
    }

    /// Adds what was expected in place of an unknown name: the nearest name as advice, or, if none is near, a
    /// short list behind the message.
    #[must_use]
    pub(crate) fn expecting<'a>(mut self, given: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> Self {
        let mut seen = std::collections::HashSet::new();
        let names: Vec<&str> = names.into_iter().filter(|&name| seen.insert(name)).collect();
        let names = names.iter().copied();
        match did_you_mean(given, names.clone()) {
            None if names.clone().next().is_none() => self.message.push_str(": nothing is"),
            None => self.message = told(format!("{}: expected one of {}", self.message, short_list(names))),
            help => self.help = help.map(told),
        }
        self
    }

    /// Replaces what follows some words in the message, if they are there.
    #[must_use]
    pub(crate) fn with_expected(mut self, words: &str, rest: &str) -> Self {
        if let Some((before, _)) = self.message.split_once(words) {
            self.message = format!("{before}{words}{rest}");
        }
        self
    }

    /// What is wrong and what was expected, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Advice, such as the nearest valid name.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Whether it is at the same location as another.
    pub(crate) fn is_where(&self, other: &Self) -> bool {
        self.location == other.location
    }

    /// Line and column of the error in the file, both from 1; the column counts characters.
    pub fn position(&self) -> Option<(usize, usize)> {
        let Location::Text { text, span } = &self.location else { return None };
        let before = &text[..span.start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }

    /// The text of the file that the error is about.
    #[cfg(test)]
    pub(crate) fn span_text(&self) -> Option<&str> {
        match &self.location {
            Location::Text { text, span } => Some(&text[span.clone()]),
            _ => None,
        }
    }

    /// The error for a terminal, with the line of the file that is wrong; with escape sequences for colour if asked for.
    pub fn render(&self, color: bool) -> String {
        let title = match &self.location {
            Location::Text { .. } => self.message.clone(),
            Location::File => format!("{}: {}", self.path, self.message),
            Location::Argument(argument) => format!("{argument}: {}", self.message),
        };
        let mut group =
            Level::ERROR.primary_title(title).elements(None::<Snippet<'_, annotate_snippets::Annotation<'_>>>);
        if let (Location::Text { text, span }, Some((line, column))) = (&self.location, self.position()) {
            if text.lines().nth(line - 1).is_some_and(|line| line.len() > MOST) {
                let location = format!("--> {}:{line}:{column}", self.path);
                return format!(
                    "error: {}\n{location}{}",
                    self.message,
                    self.help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {help}"))
                );
            }
            let annotation = AnnotationKind::Primary.span(span.clone());
            group = group.element(Snippet::source(&**text).path(&*self.path).annotation(annotation));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(&**help));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.decor_style(if color { DecorStyle::Unicode } else { DecorStyle::Ascii }).render(&[group])
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.location, self.position()) {
            (Location::Argument(argument), _) => write!(f, "{argument}: ")?,
            (_, Some((line, column))) => write!(f, "{}:{line}:{column}: ", self.path)?,
            _ => write!(f, "{}: ", self.path)?,
        }
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for Diagnostic {}

/// The most bytes of a message, or of the line of a file beside it: a text that is given may have millions.
const MOST: usize = 2000;

/// The last boundary between characters that is not behind a byte.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A message, without the middle if it is very long, and with what would command a terminal as text.
fn told(message: impl Into<String>) -> String {
    let message = message.into().replace(|c: char| c.is_control() && c != '\n', "\u{fffd}");
    if message.len() <= MOST {
        return message;
    }
    let [start, end] = [MOST / 4, message.len() - MOST / 4].map(|at| boundary(&message, at));
    format!("{} … {}", &message[..start], &message[end..])
}

/// `did you mean …?` for the candidate nearest to what was given, if one is near enough.
fn did_you_mean<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(given, candidates).map(|name| format!("did you mean `{name}`?"))
}

/// A message of serde in the words of the file's author, without the names of the program's types; and advice, such as the nearest
/// name.
pub fn plain_words(message: &str) -> (String, Option<String>) {
    let mut text = message.trim().to_owned();
    for (rust, plain) in [
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number, not negative"),
        ("expected usize", "expected a whole number, not negative"),
        ("expected f64", "expected a number"),
        ("invalid length ", "a list of length "),
        ("expected an array of length 2", "expected two numbers"),
        ("expected a sequence", "expected a list"),
        ("wanted string or table", "expected a text"),
        ("wanted exactly 1 element, found 0 elements", "an empty table, expected a text"),
        ("invalid type: map,", "a table,"),
        ("invalid type: sequence,", "a list,"),
        ("invalid type: ", ""),
        ("invalid value: ", ""),
        ("string \"", "text \""),
        ("expected a string", "expected a text"),
        ("floating point ", "number "),
        ("integer `", "number `"),
        ("unknown field ", "unknown setting "),
        ("missing field ", "missing setting "),
        ("duplicate key", "this setting or table is there twice"),
        ("expected a nonzero u32", "expected a whole number from 1 to 4294967295"),
        ("integer number overflowed", "this number is too large"),
        ("expected ident", "this is no JSON"),
        ("expected value", "this is no JSON"),
        ("EOF while parsing", "the text ends within"),
    ] {
        text = text.replace(rust, plain);
    }
    if let Some(at) = text.find(" as i128").or_else(|| text.find(" as u128")) {
        text.replace_range(at..at + " as i128".len(), " is too large");
        text =
            text.replace("expected a whole number, not negative", "expected a whole number up to 18446744073709551615");
    }
    if (text.contains("expected struct ") || text.contains("expected a map"))
        && let Some(at) = text.find("expected ")
    {
        text.replace_range(at.., "expected a table of settings");
    }
    // In TOML, numbers with a point or an exponent are no whole ones, whatever they amount to.
    let number = text.split('`').nth(1).filter(|number| number.ends_with(".0"));
    if let Some(given) = number.map(|number| format!("number `{number}`, expected a whole number")) {
        text = text.replace(&given, &given.replace("`,", "` with a point or an exponent,"));
    }
    if text.contains("number `-") {
        text = text.replace("expected a whole number from 0 to 4294967295", "expected a whole number, not negative");
    }
    if text.contains("$__toml_private_datetime") {
        return ("no setting takes a date or a time; text needs quotes".to_owned(), None);
    }
    if text.contains("recursion") || text.contains("recurse") {
        return ("tables or lists are nested too deeply".to_owned(), None);
    }
    let text = text.replace("unknown variant ", "unknown value ");
    let Some((problem, _)) = text.split_once("`, expected ").filter(|_| text.starts_with("unknown ")) else {
        return (text, None);
    };
    // What was given is the first quoted name, the valid ones follow.
    let (problem, mut names) = (format!("{problem}`"), text.split('`').skip(1).step_by(2));
    let given = names.next().unwrap_or_default();
    if given.is_empty() {
        return (format!("nothing is set here: expected one of {}", short_list(names)), None);
    }
    match did_you_mean(given, names.clone()) {
        None => (format!("{problem}, expected one of {}", short_list(names)), None),
        help => (problem, help),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever a text of the file ends up: TOML has an escape for the character that commands terminals.
    #[test]
    fn nothing_of_a_file_commands_a_terminal() {
        let text: Arc<str> = "a = 1\n".into();
        let names = ["\u{1b}ual-path", "c"];
        for error in [
            Diagnostic::file("x.toml", "\u{1b}[2J"),
            Diagnostic::text("x.toml", &text, 0..1, "\u{1b}[2J"),
            Diagnostic::argument("x.toml", "--set a=\u{1b}", "wrong"),
            Diagnostic::file("x.toml", "wrong").with_help(Some("take \u{1b}".to_owned())),
            Diagnostic::file("x.toml", "near").expecting("dual-path", names),
            Diagnostic::file("x.toml", "far").expecting("zzzzzz", names),
        ] {
            assert!(error.to_string().contains('\u{fffd}'), "{error}");
            assert!(!error.to_string().contains('\u{1b}') && !error.render(false).contains('\u{1b}'), "{error}");
        }
    }

    #[test]
    fn the_one_line_form_starts_with_the_place() {
        let text: Arc<str> = "title = \"é\"\nbuffr = 1\n".into();
        let at = text.find("buffr").unwrap();
        let error = Diagnostic::text("a.toml", &text, at..at + 5, "unknown").with_help(Some("try `buffer`".to_owned()));
        assert_eq!(error.to_string(), "a.toml:2:1: unknown; try `buffer`");
        assert_eq!(error.span_text(), Some("buffr"));
        let rendered = error.render(false);
        assert!(rendered.contains("a.toml:2:1") && rendered.contains("2 | buffr = 1") && rendered.contains("^^^^^"));
        assert!(rendered.contains("help: try `buffer`"));
        assert_eq!(Diagnostic::argument("a.toml", "--set x=1", "no").to_string(), "--set x=1: no");
        assert_eq!(Diagnostic::file("a.toml", "no").to_string(), "a.toml: no");
        // A span beyond the text, as at its end, is no panic.
        assert_eq!(Diagnostic::text("a.toml", &text, 900..901, "end").position(), Some((3, 1)));
    }

    #[test]
    fn messages_are_in_the_words_of_the_author() {
        let (message, help) = plain_words("unknown field `buffr`, expected one of `model`, `buffer`");
        assert_eq!(message, "unknown setting `buffr`");
        assert_eq!(help.as_deref(), Some("did you mean `buffer`?"));
        let (message, help) = plain_words("unknown variant `x`, expected `model` or `buffer`");
        assert_eq!((message.as_str(), help), ("unknown value `x`, expected one of model, buffer", None));
        let (message, _) = plain_words("invalid type: string \"x\", expected u32");
        assert_eq!(message, "text \"x\", expected a whole number from 0 to 4294967295");
        let (message, _) = plain_words("invalid type: integer `99999999999999999999` as i128, expected u64");
        assert_eq!(
            message,
            "number `99999999999999999999` is too large, expected a whole number up to 18446744073709551615"
        );
        assert_eq!(plain_words("invalid type: map, expected a sequence").0, "a table, expected a list");
        let (message, _) = plain_words("invalid value: integer `-3`, expected u32");
        assert_eq!(message, "number `-3`, expected a whole number, not negative");
        let (message, _) = plain_words("invalid type: floating point `10000.0`, expected u64");
        assert_eq!(message, "number `10000.0` with a point or an exponent, expected a whole number, not negative");
        let (message, _) = plain_words("unknown field `$__toml_private_datetime`, expected `bytes` or `uniform`");
        assert!(message.starts_with("no setting takes a date"), "{message}");
    }
}
