//! Text for messages and files: what was meant by an unknown name, lists of names, and what files quote. The floors above share it; it is no
//! part of what networks are.

use std::borrow::Cow;

/// The most candidates that are compared, to bound the time.
const MOST: usize = 4096;

/// The longest name, in bytes, that is compared, to bound the time.
const LONGEST: usize = 64;

/// The candidate nearest to the text given, if it is near enough to be what was meant: at most about a third of the letters
/// are wrong, missing or exchanged.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let short = candidates.into_iter().take(MOST).filter(|name| name.len().max(given.len()) <= LONGEST);
    // Capitals instead of small letters are no mistake of their own.
    let lower = given.to_lowercase();
    // The first part of a name of several means the first of them, not the shortest.
    let short: Vec<&str> = short.collect();
    let begins = |name: &&&str| name.strip_prefix(&*lower).is_some_and(|rest| rest.starts_with(['.', '_']));
    if let Some(name) = short.iter().find(begins) {
        return Some(name);
    }
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    // A name with another number is the name of something else: then nobody knows which was meant.
    let is_another = |name: &str| without_digits(name) == without_digits(given) && distance(name) > 0;
    let (distance, another, name) = short.into_iter().map(|name| (distance(name), is_another(name), name)).min()?;
    if another {
        return None;
    }
    let length = given.len().max(name.len());
    // Of two letters, one that is right says nothing.
    (distance == 0 || length > 2 && 3 * distance <= length + 1).then_some(name)
}

/// Whether one letter makes the difference between two names: wrong, missing, or exchanged with the next.
pub fn is_a_letter_off(given: &str, name: &str) -> bool {
    given.len().max(name.len()) <= LONGEST && strsim::damerau_levenshtein(given, name) == 1
}

/// The nearest name as the end of a message: `; did you mean …?`, or nothing.
pub fn did_you_mean<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, candidates).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The most characters of what somebody gave that a message repeats: in a broken file, what should be a word may be the rest of the file.
pub const LONGEST_SHOWN: usize = 300;

/// The beginning of a text that may be long: at most so many characters, and `…` if there are more.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Names for a message: all of them or, if there are many, the first few and how many more there are.
pub fn short_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST_LISTED: usize = 10;
    const FIRST: usize = 6;
    let names: Vec<&str> = names.into_iter().collect();
    if names.len() <= MOST_LISTED {
        return names.join(", ");
    }
    format!("{}, and {} more", names[..FIRST].join(", "), names.len() - FIRST)
}

/// Names in quotes, as a sentence lists them: `` `a`, `b` and `c` ``.
pub fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
        None => String::new(),
    }
}

/// What was expected instead of an unknown name, as the end of a message: `; did you mean …?`, or, if no name is near,
/// `: expected one of …` with a [short list](short_list).
pub fn expected_name<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match did_you_mean(given, candidates.clone()) {
        hint if hint.is_empty() => {
            // A list that is cut short begins with the names that differ in a number alone.
            let (first, others): (Vec<_>, Vec<_>) =
                candidates.into_iter().partition(|name| without_digits(name) == without_digits(given));
            format!(": expected one of {}", short_list(first.into_iter().chain(others)))
        }
        hint => hint,
    }
}

/// A name with the same digit, and small letters, throughout.
fn without_digits(name: &str) -> String {
    name.to_lowercase().replace(|letter: char| letter.is_ascii_digit(), "0")
}

/// A message without the numbers that the operating system gives its errors, which stand behind their names.
///
/// ```
/// use wormcast_network::text::without_error_numbers;
///
/// let told = without_error_numbers("cannot read `a`: No such file (os error 2); cannot write `b`: Denied (os error 13)");
/// assert_eq!(told, "cannot read `a`: No such file; cannot write `b`: Denied");
/// for kept in ["", "a (os error", "a (os error x) b"] {
///     assert_eq!(without_error_numbers(kept), kept);
/// }
/// ```
pub fn without_error_numbers(message: &str) -> String {
    let mut pieces = message.split(" (os error ");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text.push_str(rest),
            _ => text.extend([" (os error ", piece]),
        }
    }
    text
}

/// Text as a CSV field (RFC 4180): quoted if it contains a comma, a quote or a line break.
///
/// ```
/// use wormcast_network::text::csv_field;
///
/// assert_eq!(["leaf1", "4,3", "the \"big\" one"].map(csv_field), ["leaf1", "\"4,3\"", "\"the \"\"big\"\" one\""]);
/// ```
pub fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// Text as XML character data or an attribute's value; characters that XML does not allow become U+FFFD.
pub fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Bare, readers may make a space of it.
            '\t' | '\n' | '\r' => {
                escaped.push_str("&#");
                escaped.push_str(&u32::from(c).to_string());
                escaped.push(';');
            }
            c if !is_in_xml(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whether a character can stand in XML, and readers keep it.
pub(crate) fn is_in_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r') || !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Text between the quotes of a Graphviz string.
pub fn escape_dot(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_near_and_other_words_are_not() {
        let names = ["mesh", "torus", "turn-prohibition", "up"];
        assert_eq!(nearest("tours", names), Some("torus"));
        assert_eq!(nearest("turnprohibtion", names), Some("turn-prohibition"));
        assert_eq!(nearest("MESH", names), Some("mesh"));
        assert_eq!(nearest("ring", names), None);
        // Short names are near to anything.
        assert_eq!(nearest("x", names), None);
        assert_eq!([nearest("us", names), nearest("UP", names)], [None, Some("up")]);
        assert_eq!(nearest(&"m".repeat(65), [&*"m".repeat(64)]), None);
        assert_eq!(did_you_mean("msh", names), "; did you mean `mesh`?");
        assert_eq!(did_you_mean("", names), "");
        assert_eq!([quoted(["a"]), quoted(["a", "b", "c"])], ["`a`", "`a`, `b` and `c`"]);
    }

    #[test]
    fn what_was_expected_is_short() {
        let names = ["mesh", "torus", "turn-prohibition", "up"];
        assert_eq!(expected_name("msh", names), "; did you mean `mesh`?");
        assert_eq!(expected_name("ring", names), ": expected one of mesh, torus, turn-prohibition, up");
        let figures = ["a", "b", "c", "d", "e", "f", "g", "h", "p.50", "p.95", "last"];
        assert_eq!(expected_name("P.98", figures), ": expected one of p.50, p.95, a, b, c, d, and 5 more");
        let many: Vec<String> = (10..36).map(|number| format!("name-{number}")).collect();
        let text = short_list(many.iter().map(String::as_str));
        assert_eq!(text, "name-10, name-11, name-12, name-13, name-14, name-15, and 20 more");
    }
}
