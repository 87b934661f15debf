//! Why a verdict is what it is, in words.

use std::fmt::Write as _;

use super::saturation::factor;
use super::{Bracket, Comparison, Finding};
use crate::claim::Test;

/// The most places that a sentence names.
const MOST_PLACES: usize = 8;

/// A line for each group: how many of its comparisons say what, where it fails, and the least and the largest difference.
pub(super) fn because(groups: &[Vec<Comparison>], test: Option<Test<'_>>, unit: &str) -> String {
    let falls = matches!(test, Some(Test::Falls(_)));
    let lines: Vec<String> = groups
        .iter()
        .filter(|group| !group.is_empty())
        .flat_map(
            |group| if group[0].saturation.is_some() { saturations(group) } else { vec![line(group, unit, falls)] },
        )
        .collect();
    if lines.is_empty() { "what the claim compares is not in this sweep".to_owned() } else { lines.join("\n") }
}

/// What it would take to settle what is open: lines to go on with, or nothing.
pub(super) fn to_settle(groups: &[Vec<Comparison>]) -> String {
    let unsettled = |finding| groups.iter().flatten().filter(move |comparison| comparison.finding == finding);
    let mut takes = Vec::new();
    let (mut ranges, mut most, mut never) = (Vec::new(), 0, false);
    for comparison in unsettled(Finding::Open) {
        let brackets = [comparison.saturation, comparison.against_saturation];
        if brackets.iter().all(Option::is_none) {
            most = most.max(comparison.replications.unwrap_or(0));
            never |= comparison.replications.is_none();
        }
        for range in brackets.into_iter().flatten().map(|found| bracket(Some(found))) {
            if !ranges.contains(&range) {
                ranges.push(range);
            }
        }
    }
    if most > 0 {
        takes.push(format!("about {most} replications a point"));
    }
    if never {
        takes.push("the claim to say what is to hold where two are as good as equal".to_owned());
    }
    if !ranges.is_empty() {
        takes.push(format!("more loads, or more replications, {}", ranges.join(", ")));
    }
    if unsettled(Finding::Missing).next().is_some() {
        takes.push(
            "results of both where there is nothing to compare: one is missing, or both are saturated".to_owned(),
        );
    }
    if takes.is_empty() { String::new() } else { format!("\nTo settle it takes {}.", takes.join("; ")) }
}

fn line(group: &[Comparison], unit: &str, falls: bool) -> String {
    let first = &group[0];
    let same = group.iter().all(|comparison| comparison.against == first.against);
    let of = |finding| group.iter().filter(move |comparison| comparison.finding == finding);
    let count = |finding| of(finding).count();
    let mut line = first.series.clone();
    if falls {
        let _ = write!(line, " ends lower than it is at {} of {} points", count(Finding::Holds), group.len());
    } else {
        if same {
            let _ = write!(line, " against {}", first.against);
        }
        let _ = write!(line, ": holds at {} of {}", count(Finding::Holds), group.len());
        if count(Finding::Fails) > 0 {
            let mut places: Vec<&str> = of(Finding::Fails).map(|comparison| comparison.at.as_str()).collect();
            if places.len() > MOST_PLACES {
                places.truncate(MOST_PLACES);
                places.push("…");
            }
            let _ = write!(line, ", fails at {} ({})", count(Finding::Fails), places.join(", "));
        }
    }
    for (finding, word) in [(Finding::Open, "open"), (Finding::Missing, "nothing to compare")] {
        if count(finding) > 0 {
            let _ = write!(line, ", {word} at {}", count(finding));
        }
    }
    let place = |comparison: &Comparison| match (falls, same) {
        (true, _) => format!("from {}", comparison.against.trim_start_matches("at ")),
        (false, true) => format!("at {}", comparison.at),
        (false, false) => format!("from {} at {}", comparison.against, comparison.at),
    };
    let mean = |comparison: &&Comparison| comparison.difference.map_or(0.0, |difference| difference.mean);
    let measured = || group.iter().filter(|comparison| comparison.difference.is_some());
    let least = measured().min_by(|a, b| mean(a).total_cmp(&mean(b)));
    let most = measured().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    if let (Some(least), Some(most)) = (least, most) {
        let _ = write!(line, "; difference {} {}", figure(least, unit), place(least));
        if group.len() > 1 {
            let _ = write!(line, " to {} {}", figure(most, unit), place(most));
        }
    }
    line
}

/// A line for each comparison of where series saturate.
fn saturations(group: &[Comparison]) -> Vec<String> {
    let line = |comparison: &Comparison| {
        let own = bracket(comparison.saturation);
        let found = match comparison.finding {
            Finding::Holds => "holds",
            Finding::Fails => "fails",
            Finding::Open | Finding::Missing => "open",
        };
        let (Some(later), Some(earlier)) = (comparison.saturation, comparison.against_saturation) else {
            return format!("{} saturates {own}; {}: {found}", comparison.series, comparison.against);
        };
        let factor = match factor(later, earlier) {
            (least, most) if most.is_finite() => format!("{} to {}", short(least), short(most)),
            (least, _) => format!("{} or more", short(least)),
        };
        let other = bracket(comparison.against_saturation);
        format!("{} saturates {own}, {} {other}, a factor of {factor}: {found}", comparison.series, comparison.against)
    };
    group.iter().map(line).collect()
}

fn bracket(bracket: Option<Bracket>) -> String {
    match bracket.map(|bracket| (bracket.stable, bracket.saturated)) {
        Some((Some(stable), Some(saturated))) => format!("between {} and {}", short(stable), short(saturated)),
        Some((Some(stable), None)) => format!("after {}", short(stable)),
        Some((None, Some(saturated))) => format!("before {}", short(saturated)),
        None | Some((None, None)) => "somewhere".to_owned(),
    }
}

/// A difference with its interval.
fn figure(comparison: &Comparison, unit: &str) -> String {
    let Some(difference) = comparison.difference else { return String::new() };
    let scale = if unit == "%" { 100.0 } else { 1.0 };
    let half = |half| format!(" ± {}", short(half * scale));
    let half = difference.half_width.map_or_else(|| " (no interval)".to_owned(), half);
    let unit = if unit.is_empty() { String::new() } else { format!(" {}", unit.replace("us", "µs")) };
    let mean = short(difference.mean * scale);
    let sign = if difference.mean > 0.0 && mean != "0" { "+" } else { "" };
    format!("{sign}{mean}{half}{unit}")
}

/// A number with three or four digits.
fn short(number: f64) -> String {
    let decimals = match number.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 || size == 0.0 => 3,
        // Rates of traffic are small.
        size => (2.0 - size.log10().floor()).min(9.0) as usize,
    };
    let text = format!("{number:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let cases =
            [(0.003_25, "0.00325"), (0.304_12, "0.304"), (-0.0, "0"), (0.0, "0"), (2.5, "2.5"), (1.444_4, "1.444")];
        for (number, text) in cases.into_iter().chain([(12.345, "12.3"), (12_345.6, "12346"), (-1e-12, "0")]) {
            assert_eq!(short(number), text);
        }
    }
}
