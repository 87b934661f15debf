//! Command-line arguments: how they are prepared for parsing, and the messages about wrong ones.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::commands;
use crate::network::TopologySpec;
use crate::network::text::{did_you_mean, nearest, short_list};

/// Arguments with negative numbers put behind the options that they are for, as `--source=-1`: what is wrong with them is said by who
/// reads their values, not by who looks for an option `-1`.
pub(crate) fn with_negative_numbers(
    command: &clap::Command,
    arguments: impl Iterator<Item = OsString>,
) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    let mut subcommand = None;
    for argument in arguments {
        let text = argument.to_str().unwrap_or_default();
        if subcommand.is_none() && !all.is_empty() {
            subcommand = command.find_subcommand(text);
        }
        let is_number = text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let option = all.last().and_then(|last| last.to_str()?.strip_prefix("--"));
        let takes_values = |option: &str| {
            let mut known = subcommand.into_iter().flat_map(clap::Command::get_arguments);
            known.any(|known| known.get_long() == Some(option) && known.get_action().takes_values())
        };
        if is_number
            && option.is_some_and(takes_values)
            && let Some(last) = all.last_mut()
        {
            last.push("=");
            last.push(&argument);
        } else {
            all.push(argument);
        }
    }
    all
}

/// The most values of an argument that are listed where one of them is meant.
const SHORT: usize = 8;

/// A value that begins like an option, behind an option that takes one.
fn value_with_a_hyphen(unknown: &str, words: &[OsString]) -> Option<String> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    // Of letters behind one hyphen, the first is unknown.
    let is_it =
        |word: &&str| *word == unknown || unknown.len() == 2 && !word.starts_with("--") && word.starts_with(unknown);
    let at = words.iter().position(is_it)?;
    let option = words.get(at.checked_sub(1)?)?.strip_prefix("--")?;
    let command = commands::command();
    let needs_one = |argument: &clap::Arg| {
        let least = argument.get_num_args().map_or(1, |range| range.min_values());
        argument.get_long() == Some(option) && argument.get_action().takes_values() && least > 0
    };
    let own = command.get_subcommands().find(|command| words.contains(&command.get_name()))?;
    let value = words[at];
    own.get_arguments().any(needs_one).then(|| {
        format!("unexpected argument '{value}': if it is the value of `--{option}`, write `--{option}={value}`")
    })
}

/// What is wrong with the value of an argument, in plain words: what was meant, or else a short list of what is possible. `None` if
/// something else is wrong. `words` are all that were given.
pub(crate) fn explained(usage: &clap::Error, words: &[OsString]) -> Option<String> {
    let text = |kind| match usage.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    if usage.kind() == ErrorKind::InvalidSubcommand {
        let unknown = text(ContextKind::InvalidSubcommand)?;
        let command = commands::command();
        let all: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let expected = match did_you_mean(unknown, all.iter().copied()) {
            meant if meant.is_empty() => format!(": expected one of {}", all.join(", ")),
            meant => meant,
        };
        return Some(format!("there is no command '{unknown}'{expected}"));
    }
    if usage.kind() == ErrorKind::UnknownArgument {
        let unknown = text(ContextKind::InvalidArg)?;
        let meant = usage.get(ContextKind::SuggestedArg).map(ToString::to_string);
        // What merely has some letters in common is not meant.
        let unlike = || meant.as_ref().is_some_and(|meant| nearest(unknown, [&**meant]).is_none());
        let is_meant = meant.as_ref().is_some_and(|meant| nearest(unknown, [&**meant]).is_some());
        return of_another_command(unknown)
            .or_else(|| if is_meant { None } else { value_with_a_hyphen(unknown, words) })
            .or_else(|| without_its_option(usage, unknown, words))
            .or_else(|| unlike().then(|| format!("unexpected argument '{unknown}'")));
    }
    let (argument, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
    match usage.kind() {
        ErrorKind::InvalidValue => {
            let Some(ContextValue::Strings(valid)) = usage.get(ContextKind::ValidValue) else { return None };
            let names = || valid.iter().map(String::as_str);
            let expected = match &valid[..] {
                [] => String::new(),
                [one, other] => format!(": expected '{one}' or '{other}'"),
                _ => format!(": expected one of {}", short_list(names())),
            };
            // What is merely as long is not meant, but what begins so may be.
            let is_meant = |meant: &&str| meant.starts_with(value) || nearest(value, [*meant]).is_some();
            let suggested = text(ContextKind::SuggestedValue).filter(is_meant);
            // Capitals and underscores are no letters of another name.
            let plain = value.to_lowercase().replace('_', "-");
            let same = names().find(|&name| name == plain);
            Some(match same.or(suggested).or_else(|| nearest(value, names())) {
                _ if value.is_empty() => {
                    format!("a value is required for '{argument}' but none was supplied{expected}")
                }
                // Somebody who gives an exact name of something else means that.
                _ if let (None, Some(other)) = (same, option_with(value, argument)) => {
                    format!("invalid value '{value}' for '{argument}'{expected}; '{value}' is a value of `{other}`")
                }
                // A short list tells what else there is.
                Some(meant) if valid.len() <= SHORT => {
                    format!("invalid value '{value}' for '{argument}'{expected}; did you mean '{meant}'?")
                }
                Some(meant) => format!("invalid value '{value}' for '{argument}'; did you mean '{meant}'?"),
                None => format!("invalid value '{value}' for '{argument}'{expected}"),
            })
        }
        ErrorKind::ValueValidation => {
            let source = usage.source()?;
            let expected = match source.downcast_ref::<ParseIntError>() {
                Some(problem) if *problem.kind() == IntErrorKind::PosOverflow && value.parse::<u64>().is_err() => {
                    format!("{}: the largest is {}", plain(problem.kind()), u64::MAX)
                }
                Some(problem) => plain(problem.kind()).to_owned(),
                // A range in the program's notation.
                None => {
                    match source.to_string().split_once(" is not in ").and_then(|(_, range)| range.split_once("..=")) {
                        Some((least, most)) => format!("expected a whole number from {least} to {most}"),
                        None => source.to_string(),
                    }
                }
            };
            Some(format!("invalid value '{value}' for '{argument}': {expected}"))
        }
        _ => None,
    }
}

/// Of which commands an option is that this one does not have; `None` if of none.
fn of_another_command(unknown: &str) -> Option<String> {
    let option = unknown.strip_prefix("--")?;
    let command = commands::command();
    let has_it = |of: &&clap::Command| of.get_arguments().any(|argument| argument.get_long() == Some(option));
    let those: Vec<String> =
        command.get_subcommands().filter(has_it).map(|of| format!("`{}`", of.get_name())).collect();
    let those = match those.split_last()? {
        (last, []) => last.clone(),
        (last, others) => format!("{} and {last}", others.join(", ")),
    };
    let instead = if option == "root" { "; that of `trees` is `--first`" } else { "" };
    Some(format!("unexpected argument '{unknown}': it is an option of {those}{instead}"))
}

/// Suggests the option for a value that was given without one, if there is one that fits and is not given.
fn without_its_option(usage: &clap::Error, value: &str, words: &[OsString]) -> Option<String> {
    let line = usage.get(ContextKind::Usage).filter(|_| !value.starts_with('-'))?.to_string();
    let command = commands::command();
    let own = line.split_whitespace().find_map(|word| command.find_subcommand(word))?;
    let is_shape = value.parse::<TopologySpec>().is_ok_and(|spec| !matches!(spec, TopologySpec::File(..)));
    let fits = |option: &&clap::Arg| {
        let long = option.get_long().unwrap_or_default();
        let is_given = |word: &OsString| {
            let name = word.to_str().and_then(|word| word.strip_prefix("--"));
            name.is_some_and(|name| name.split('=').next() == Some(long))
        };
        let is_one = option.get_possible_values().iter().any(|name| name.matches(value, false));
        (is_one || long == "topology" && is_shape) && !words.iter().any(is_given)
    };
    let mut all = own.get_arguments().filter(fits);
    let (Some(option), None) = (all.next(), all.next()) else { return None };
    Some(format!("unexpected argument '{value}': did you mean `--{} {value}`?", option.get_long()?))
}

/// Another option that takes names, of which this is one, if it is a long list.
fn option_with(value: &str, argument: &str) -> Option<String> {
    let command = commands::command();
    let mut arguments = command.get_subcommands().flat_map(clap::Command::get_arguments);
    let other = arguments.find(|other| {
        let names = other.get_possible_values();
        names.len() > SHORT && names.iter().any(|name| name.matches(value, true))
    })?;
    let option = format!("--{}", other.get_long()?);
    (!argument.starts_with(&option)).then_some(option)
}

/// What was expected instead of something that is not a whole number.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "that is what errors hand out")]
fn plain(problem: &IntErrorKind) -> &'static str {
    match problem {
        IntErrorKind::PosOverflow => "this number is too large",
        IntErrorKind::Zero => "expected a whole number, at least 1",
        _ => "expected a whole number, not negative",
    }
}

/// The value of an option that is at least 1: clap has no such parser for `NonZero` types, whose own errors say of negative numbers what is
/// not true of 0.
pub(crate) fn positive<T: FromStr<Err = ParseIntError>>(value: &str) -> Result<T, &'static str> {
    value.parse().map_err(|problem: ParseIntError| {
        plain(if *problem.kind() == IntErrorKind::PosOverflow { problem.kind() } else { &IntErrorKind::Zero })
    })
}

/// The value of an option from 1 to `MOST`: what is expected is the same whatever is wrong with it.
pub(crate) fn at_most<N: TryFrom<u64>, const MOST: u64>(value: &str) -> Result<N, String> {
    from_to::<N, 1, MOST>(value)
}

/// The value of an option from `LEAST` to `MOST`, likewise.
pub(crate) fn from_to<N: TryFrom<u64>, const LEAST: u64, const MOST: u64>(value: &str) -> Result<N, String> {
    let is_too_large = match value.parse::<u64>() {
        Ok(number) if (LEAST..=MOST).contains(&number) => return number.try_into().map_err(|_| String::new()),
        Ok(number) => number > MOST,
        Err(problem) => *problem.kind() == IntErrorKind::PosOverflow,
    };
    // Nobody asks how large a number may be that is limited by its size in memory alone.
    let is_limited = MOST < u64::from(u32::MAX) || is_too_large;
    Err(if is_limited {
        format!("expected a whole number from {LEAST} to {MOST}")
    } else {
        format!("expected a whole number, at least {LEAST}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_missing_has_no_list_where_there_is_none() {
        let command = commands::command();
        let words = ["wormcast", "man", "--out", ""].map(OsString::from);
        let said = explained(&command.try_get_matches_from(&words).unwrap_err(), &words).unwrap();
        assert_eq!(said, "a value is required for '--out <FOLDER>' but none was supplied");
    }

    #[test]
    fn negative_numbers_belong_to_the_option_before_them() {
        let given = |line: &str| {
            let words = line.split(' ').map(OsString::from);
            let joined = with_negative_numbers(&commands::command(), words);
            joined.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(given("wormcast plan --source -1 --seed -2,3"), "wormcast plan --source=-1 --seed=-2,3");
        assert_eq!(given("wormcast plan --strict -1"), "wormcast plan --strict -1");
        assert_eq!(given("wormcast topology -5 --format json"), "wormcast topology -5 --format json");
        assert_eq!(given("wormcast plan --source -x --batch -"), "wormcast plan --source -x --batch -");
    }

    #[test]
    fn what_is_wrong_with_a_value_is_said_in_plain_words() {
        let said = |line: &str| {
            let command = commands::command();
            let words = with_negative_numbers(&command, line.split(' ').map(OsString::from));
            explained(&command.try_get_matches_from(&words).unwrap_err(), &words).unwrap()
        };
        let start = "wormcast routing --topology mesh:2x2";
        assert_eq!(
            said(&format!("{start} --routing ecube")),
            "invalid value 'ecube' for '--routing <NAME>'; did you mean 'e-cube'?"
        );
        let unknown = said(&format!("{start} --algorithm 7"));
        assert!(unknown.contains("': expected one of separate, ") && unknown.ends_with(" more"), "{unknown}");
        for value in ["0", "-1", "33", "x", "99999999999999999999"] {
            let expected =
                format!("invalid value '{value}' for '--consumption-ports <K>': expected a whole number from 1 to 32");
            assert_eq!(said(&format!("{start} --routing e-cube --consumption-ports {value}")), expected);
        }
        for (line, value, option, expected) in [
            ("serve --port", "abc", "--port <N>", " from 0 to 65535"),
            ("serve --port", "99999", "--port <N>", " from 0 to 65535"),
            ("routing --topology mesh:2x2 --routing e-cube --sample", "x", "--sample [<ROUTERS>]", ", at least 30"),
            ("routing --topology mesh:2x2 --routing e-cube --sample", "29", "--sample [<ROUTERS>]", ", at least 30"),
        ] {
            let expected = format!("invalid value '{value}' for '{option}': expected a whole number{expected}");
            assert_eq!(said(&format!("wormcast {line} {value}")), expected);
        }
        assert!(
            said("wormcast frobnicate").starts_with("there is no command 'frobnicate': expected one of topology, ")
        );
        for (line, meant) in [
            ("routing mesh:4x4 --routing e-cube", "'mesh:4x4': did you mean `--topology mesh:4x4`?"),
            ("routing --topology mesh:4x4 e-cube", "'e-cube': did you mean `--routing e-cube`?"),
            ("plan dual-path", "'dual-path': did you mean `--algorithm dual-path`?"),
        ] {
            assert_eq!(said(&format!("wormcast {line}")), format!("unexpected argument {meant}"));
        }
        // A file may be anything, and what is given is not given again.
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for line in ["routing Cargo.toml", "routing --topology mesh:4x4 torus:4x4"] {
            let words = words(&format!("wormcast {line}"));
            let wrong = commands::command().try_get_matches_from(&words).unwrap_err();
            assert!(explained(&wrong, &words).is_none_or(|said| !said.contains("--topology")), "{line}");
        }
        assert_eq!(
            said("wormcast sweep --reachable 3"),
            "unexpected argument '--reachable': it is an option of `routing`"
        );
        assert!(
            said("wormcast sweep --format json").starts_with("unexpected argument '--format': it is an option of ")
        );
        let set = said("wormcast plan --set switching.buffer=4");
        assert!(set.starts_with("unexpected argument '--set': it is an option of `simulate`"), "{set}");
        assert_eq!(said("wormcast plan --src-dst 4,3"), "unexpected argument '--src-dst'");
        assert!(said(&format!("{start} --algorithm DSTM-1")).ends_with("; did you mean 'dstm-1'?"));
        assert!(said(&format!("{start} --algorithm e-cube")).ends_with(" more; 'e-cube' is a value of `--routing`"));
        assert!(said(&format!("{start} --algorithm XY_Tree")).ends_with("; did you mean 'xy-tree'?"));
        let trees = said("wormcast trees --topology torus:4x4 --construction SPAM");
        assert!(trees.ends_with("; did you mean 'spam'?"), "{trees}");
        let both = said(&format!("{start} --routing u-cube"));
        assert!(both.ends_with("; 'u-cube' is a value of `--algorithm`"), "{both}");
        let markdown = "invalid value 'x.html' for '--markdown <FILE.md>': expected a file that ends in `.md`";
        assert_eq!(said("wormcast reproduce --markdown x.html"), markdown);
        let seed = "for '--seed <SEED>': ";
        assert_eq!(
            said(&format!("{start} --seed -1")),
            format!("invalid value '-1' {seed}expected a whole number, not negative")
        );
        let large = "99999999999999999999";
        assert_eq!(
            said(&format!("{start} --seed {large}")),
            format!("invalid value '{large}' {seed}this number is too large: the largest is 18446744073709551615")
        );
        for value in ["0", "-1", "x", ""] {
            let said = said(&format!("wormcast sweep --jobs={value}"));
            assert_eq!(said, format!("invalid value '{value}' for '--jobs <N>': expected a whole number, at least 1"));
        }
        let trees = "wormcast trees --topology torus:4x4 --construction dstm-tarjan";
        let most = "expected a whole number from 1 to 4294967295";
        assert_eq!(
            said(&format!("{trees} --trees 99999999999")),
            format!("invalid value '99999999999' for '--trees <K>': {most}")
        );
        assert_eq!(
            said(&format!("{start} --routing e-cube --reachable=0")),
            "invalid value '0' for '--reachable [<STEPS>]': expected a whole number, at least 1"
        );
        assert_eq!(
            said(&format!("{trees} --balance foo")),
            "invalid value 'foo' for '--balance <NAME>': expected one of none, root, branch"
        );
        assert!(said("wormcast completions csh").contains("'csh' for '<SHELL>': expected one of bash, "));
        let plan = "wormcast plan --topology mesh:2x2 --algorithm separate --source 0 --destinations 1";
        assert_eq!(
            said(&format!("{plan} --ports two")),
            "invalid value 'two' for '--ports <PORTS>': expected 'one' or 'all'"
        );
    }
}
