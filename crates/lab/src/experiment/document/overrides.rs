//! Settings given beside the file, and what they replace.

use toml::Spanned;
use toml::de::DeValue;

use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::Document;
use crate::experiment::document::tree::{Tree, key_path, within};
use crate::experiment::document::versions::{QUICK, VARIATION};

/// The table of a file with the settings that are swept.
pub(super) const SWEEP: &str = "sweep";

/// A setting given beside the file, as `--set key=value` does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    pub(super) argument: String,
    pub(super) key: String,
    pub(super) value: String,
}

impl Override {
    /// Whether it gives what only a version of the experiment has.
    pub(crate) fn is_of_a_version(&self) -> bool {
        let root = Document::parts(&self.key).and_then(|path| path.into_iter().next());
        root.is_some_and(|root| [QUICK, VARIATION, "open"].contains(&root.as_str()))
    }

    /// From the argument of `--set`: `key=value`, where the key is a dotted path and the value is as in the file; quotes around a
    /// string may be left out.
    ///
    /// # Errors
    /// If there is no `=`.
    pub fn set(assignment: &str) -> Result<Self, Diagnostic> {
        let argument = format!("--set {assignment}");
        match assignment.split_once('=') {
            Some((key, value)) => Ok(Self { argument, key: key.trim().to_owned(), value: value.trim().to_owned() }),
            None => {
                Err(Diagnostic::argument("", &argument, "expected `key=value`, as in `traffic.arrivals.rate=0.004`"))
            }
        }
    }

    /// Those without effect: the last of several `--set` of one setting counts, whether it gives a value or sweeps it, and a table replaces what was set in it
    /// before. Each is named, with what replaces it. `quick` says whether the quick version is asked for.
    ///
    /// # Errors
    /// If another option and a `--set` contradict each other, naming both; and if one is for a quick version that is not asked for.
    pub fn check(all: &[Self], quick: bool) -> Result<Vec<String>, Diagnostic> {
        let path = |given: &Self| applied(Document::parts(&given.key)?, quick);
        let unread = |given: &&Self| Document::parts(&given.key).is_some_and(|path| applied(path, quick).is_none());
        if let Some(given) = all.iter().find(unread) {
            let message = "`quick` is a version of the file that is not asked for: add `--quick`";
            let help = "or set what it sets, as in `run.messages=500`".to_owned();
            return Err(Diagnostic::argument("", &given.argument, message).with_help(Some(help)));
        }
        let mut replaced = Vec::new();
        for (index, later) in all.iter().enumerate() {
            let (Some(of_later), value) = (path(later), &later.value) else { continue };
            let drops = |earlier: &&Self| {
                let Some(of_earlier) = path(earlier) else { return false };
                match [&of_earlier, &of_later].map(|path| swept(path)) {
                    // One sweeps what the other gives.
                    [Some(one), None] => gives(&of_later, value, one),
                    [None, Some(other)] => of_earlier == other,
                    _ => {
                        of_earlier.starts_with(&of_later)
                            && (of_earlier.len() > of_later.len() || earlier.value != *value)
                    }
                }
            };
            for earlier in all[..index].iter().filter(drops) {
                if !later.argument.starts_with("--set ") {
                    let message = format!("contradicts `{}`: give one of the two", earlier.argument);
                    return Err(Diagnostic::argument("", &later.argument, message));
                }
                replaced.push(format!("{}: replaced by `{}`", earlier.argument, later.argument));
            }
        }
        Ok(replaced)
    }

    /// Whether it is about the sweep, which a single run does not look at.
    pub fn is_of_a_sweep(&self) -> bool {
        let path = Document::parts(&self.key).and_then(|path| applied(path, true));
        path.is_some_and(|path| path.first().is_some_and(|root| root == SWEEP))
    }

    /// From a setting's dotted path and a value as TOML.
    pub(crate) fn of(key: &str, value: &str) -> Self {
        Self { argument: format!("{key} = {value}"), key: key.to_owned(), value: value.to_owned() }
    }

    /// From another option of the command line that stands for a setting, as `--seed 7` does for `seed`. Errors name it.
    pub fn option(option: &str, key: &str, value: &str) -> Self {
        Self { argument: format!("{option} {}", value.trim_matches('"')), key: key.to_owned(), value: value.to_owned() }
    }
}

/// The setting that an override gives, by its path: what is for the quick version, as `quick.run.messages`, gives `run.messages` there and
/// nothing elsewhere.
pub(super) fn applied(mut path: Vec<String>, quick: bool) -> Option<Vec<String>> {
    if path.len() > 1 && path[0] == QUICK {
        path.remove(0);
        return quick.then_some(path);
    }
    Some(path)
}

/// Settings that say the same in two ways, of which an experiment has one.
pub(super) const SAME: [&str; 2] = ["traffic.arrivals.rate", "traffic.arrivals.load"];

/// The other of two settings that say the same, for one that is given or swept at a path.
pub(super) fn rival(path: &[String]) -> Option<Vec<String>> {
    let given = setting_of(path).join(".");
    let index = SAME.iter().position(|setting| *setting == given)?;
    key_path(SAME[1 - index])
}

/// Whether a value at a path makes messages come in bursts, which have neither rate nor load.
pub(super) fn makes_bursts(value: &DeValue<'_>, path: &[String]) -> bool {
    pub(super) const PROCESS: [&str; 3] = ["traffic", "arrivals", "process"];
    let Some(rest) = PROCESS.get(path.len()..).filter(|_| path.iter().zip(PROCESS).all(|(part, name)| part == name))
    else {
        return false;
    };
    let found = rest.iter().try_fold(value, |value, name| Some(value.as_table()?.get(*name)?.get_ref()));
    found.and_then(DeValue::as_str).is_some_and(|process| process == "burst")
}

/// The setting that a path gives or sweeps, without quotes around what is swept.
pub(super) fn setting_of(path: &[String]) -> Vec<String> {
    swept(path).unwrap_or(path).iter().flat_map(|part| key_path(part).unwrap_or_default()).collect()
}

/// The setting that a path of the table of swept settings is about.
pub(super) fn swept(path: &[String]) -> Option<&[String]> {
    path.split_first().filter(|(first, rest)| *first == SWEEP && !rest.is_empty()).map(|(_, rest)| rest)
}

/// Whether a value at a path gives a setting or sweeps it, by itself or in a table.
pub(super) fn gives(path: &[String], value: &str, setting: &[String]) -> bool {
    let mut paths = vec![path.to_vec()];
    if let Ok(value) = DeValue::parse(value) {
        within(value.get_ref(), path, &mut paths);
    }
    paths.iter().any(|path| setting_of(path) == setting)
}

/// Drops the paths that a sweep, or what is at `path` of it, has values for.
pub(super) fn unless_swept(paths: &mut Vec<Vec<String>>, sweep: &DeValue<'_>, path: &[String]) {
    paths.retain(|given| given != path);
    let DeValue::Table(table) = sweep else { return };
    for (name, value) in table {
        let inner = [path, &key_path(name.get_ref()).unwrap_or_default()].concat();
        unless_swept(paths, value.get_ref(), &inner);
    }
}

/// The path of a setting as the file has it. A swept setting may be a key in quotes, `"traffic.length"`, or a table in a table, and
/// means the same: what replaces it must not stand beside it.
pub(super) fn as_swept(tree: &Tree<'_>, path: Vec<String>) -> Vec<String> {
    let [sweep, rest @ ..] = &path[..] else { return path };
    let Some(DeValue::Table(table)) = tree.get(sweep.as_str()).map(Spanned::get_ref).filter(|_| sweep == SWEEP) else {
        return path;
    };
    let parts: Option<Vec<Vec<String>>> = rest.iter().map(|name| key_path(name)).collect();
    match parts.and_then(|parts| written(table, &parts.concat())) {
        Some(found) => [vec![SWEEP.to_owned()], found].concat(),
        None => path,
    }
}

/// The keys, one in the other, that together are these parts of a dotted path.
pub(super) fn written(table: &Tree<'_>, parts: &[String]) -> Option<Vec<String>> {
    table.iter().find_map(|(name, value)| {
        let rest = parts.strip_prefix(&key_path(name.get_ref())?[..])?;
        let inner = match value.get_ref() {
            _ if rest.is_empty() => Vec::new(),
            DeValue::Table(inner) => written(inner, rest)?,
            _ => return None,
        };
        Some([vec![name.get_ref().to_string()], inner].concat())
    })
}
