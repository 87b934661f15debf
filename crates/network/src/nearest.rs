//! What was meant by a name that there is not.

/// The most candidates that are looked at: long lists would take long.
const MOST: usize = 4096;

/// The longest name, in bytes, that is compared: long ones would take long.
const LONGEST: usize = 64;

/// The candidate nearest to what was given, if it is near enough to be what was meant: at most about a third of the letters
/// are wrong, missing or exchanged.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let short = candidates.into_iter().take(MOST).filter(|name| name.len().max(given.len()) <= LONGEST);
    let (distance, name) = short.map(|name| (strsim::damerau_levenshtein(given, name), name)).min()?;
    (3 * distance <= given.len().max(name.len()) + 1).then_some(name)
}

/// The same as the end of a message: `; did you mean …?`, or nothing.
pub fn did_you_mean<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, candidates).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_near_and_other_words_are_not() {
        let names = ["mesh", "torus", "turn-prohibition", "up"];
        assert_eq!(nearest("tours", names), Some("torus"));
        assert_eq!(nearest("turnprohibtion", names), Some("turn-prohibition"));
        assert_eq!(nearest("ring", names), None);
        // Short names are near to anything.
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest(&"m".repeat(65), [&*"m".repeat(64)]), None);
        assert_eq!(did_you_mean("msh", names), "; did you mean `mesh`?");
        assert_eq!(did_you_mean("", names), "");
    }
}
