//! Which setting is to blame for a problem.

use super::Experiment;
use crate::experiment::axis::Axis;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::Document;

impl Experiment {
    /// What is wrong with a number of a range, if that is the problem: a setting that counts gets numbers that are not whole.
    pub(super) fn in_range(&self, choice: &[usize], problem: Diagnostic) -> Diagnostic {
        let at_fault = |&(axis, &chosen): &(&Axis, &usize)| {
            let value = &axis.values[chosen];
            axis.is_range && self.document.error(value.span(), "").is_where(&problem) && value.json.is_f64()
        };
        let culprit = self.axes.iter().zip(choice).find(at_fault);
        let Some((axis, _)) = culprit.filter(|_| problem.message().contains("whole number")) else { return problem };
        let mut numbers = axis.values.iter().filter_map(|value| value.json.as_f64());
        let (message, help) = match numbers.find(|number| number.fract() != 0.0) {
            Some(number) => (
                format!("`{}` takes whole numbers, and {number} is one of this range", axis.key),
                "choose the ends and `points` so that the steps between them are whole, or list the values",
            ),
            None => (
                format!("`{}` takes whole numbers", axis.key),
                "write both ends without a point or an exponent, as in `1000`",
            ),
        };
        self.document.error(axis.values[0].span(), message).with_help(Some(help.to_owned()))
    }

    /// Whether a setting is given beside the file, as by `--set`.
    pub(crate) fn is_overridden(&self, key: &str) -> bool {
        self.document.overrides(key)
    }

    /// The setting to blame for a problem with this one: if it is not given itself, one that is and that it follows from.
    pub(crate) fn to_blame<'k>(&self, choice: &[usize], key: &'k str) -> &'k str {
        const FOLLOWS: [(&str, &[&str]); 8] = [
            ("options.tables", &["routing"]),
            ("switching.central_chunks", &["switching.max_packet", "switching.chunk_flits", "traffic.length"]),
            ("switching.input_fifo", &["switching.chunk_flits", "switching.max_packet", "traffic.length"]),
            ("switching.max_packet", &["traffic.length"]),
            ("switching.model", &["algorithm"]),
            // What a tree header cannot have.
            ("switching.replication", &["switching.header"]),
            // Of which classes need some.
            ("switching.virtual_channels", &["options.classes", "routing", "algorithm"]),
            // Of links in the network's file.
            ("timing.delay", &["switching.replication", "topology"]),
        ];
        let Ok(tree) = self.chosen(choice) else { return key };
        let given = |key: &&str| Document::has(&tree, &key.split('.').map(str::to_owned).collect::<Vec<_>>());
        let others = FOLLOWS.iter().find(|(of, _)| *of == key && !given(of)).map_or(&[][..], |(_, others)| others);
        others.iter().copied().find(|other| given(other)).unwrap_or(key)
    }
}
