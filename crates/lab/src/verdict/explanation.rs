//! The reasons for a verdict, in words.

use std::fmt::Write as _;

use super::saturation::factor;
use super::{Bracket, Comparison, Finding};
use crate::experiment::claim::Test;
use crate::statistics::{number_text, with_interval};

/// The most points that a sentence names.
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

/// Advice never asks for more replications than this.
const MOST_REPLICATIONS: u64 = 10_000;

/// What it would take to settle what is open, as further lines; empty if nothing is open.
pub(super) fn to_settle(groups: &[Vec<Comparison>], of_shares: bool, deadlocked: bool) -> String {
    let unsettled = |finding| groups.iter().flatten().filter(move |comparison| comparison.finding == finding);
    let mut takes = Vec::new();
    let (mut ranges, mut most, mut never) = (Vec::new(), 0, false);
    for comparison in unsettled(Finding::Open) {
        let brackets = [comparison.saturation, comparison.against_saturation];
        if brackets.iter().all(Option::is_none) {
            let replications = comparison.replications.filter(|&replications| replications <= MOST_REPLICATIONS);
            most = most.max(replications.unwrap_or(0));
            never |= replications.is_none();
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
        takes.push(format!("more than {MOST_REPLICATIONS} replications where two are as good as equal"));
    }
    if !ranges.is_empty() {
        ranges.retain(|range| range != SOMEWHERE);
        let places = if ranges.is_empty() { String::new() } else { format!(", {}", ranges.join(", ")) };
        takes.push(format!("more loads, or more replications{places}"));
    }
    if unsettled(Finding::Missing).next().is_some() {
        let why = match (deadlocked, of_shares) {
            (false, true) => "one is missing or saturated",
            (false, false) => "one is missing, or both are saturated",
            (true, true) => "one is missing, deadlocked or saturated",
            (true, false) => "one is missing or deadlocked, or both are saturated",
        };
        takes.push(format!("results of both where there is nothing to compare: {why}"));
    }
    if unsettled(Finding::NoInterval).next().is_some() {
        takes.push("more replications where a percentile has no interval".to_owned());
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
            places.retain(|place| !place.is_empty());
            if places.len() > MOST_PLACES {
                places.truncate(MOST_PLACES);
                places.push("…");
            }
            let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
            let _ = write!(line, ", fails at {}{places}", count(Finding::Fails));
        }
    }
    for (finding, word) in [
        (Finding::Open, "open"),
        (Finding::Missing, "nothing to compare"),
        (Finding::NoInterval, "no interval (too few replications)"),
    ] {
        if count(finding) > 0 {
            let _ = write!(line, ", {word} at {}", count(finding));
        }
    }
    // Nowhere, if nothing is swept but the series.
    let at = |comparison: &Comparison| match comparison.at.as_str() {
        "" => String::new(),
        at => format!(" at {at}"),
    };
    let place = |comparison: &Comparison| match (falls, same) {
        (true, _) => format!(" from {}", comparison.against.trim_start_matches("at ")),
        (false, true) => at(comparison),
        (false, false) => format!(" from {}{}", comparison.against, at(comparison)),
    };
    let mean = |comparison: &&Comparison| comparison.difference.map_or(0.0, |difference| difference.mean);
    let measured = || group.iter().filter(|comparison| comparison.difference.is_some());
    let least = measured().min_by(|a, b| mean(a).total_cmp(&mean(b)));
    let most = measured().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    if let (Some(least), Some(most)) = (least, most) {
        let [least, most] = [least, most].map(|one| format!("{}{}", figure(one, unit), place(one)));
        let _ = write!(line, "; difference {least}");
        if most != least {
            let _ = write!(line, " to {most}");
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
            Finding::Open | Finding::Missing | Finding::NoInterval => "open",
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
        None | Some((None, None)) => SOMEWHERE.to_owned(),
    }
}

/// Where a saturation lies of which no load tells anything.
const SOMEWHERE: &str = "somewhere";

/// A difference with its interval.
fn figure(comparison: &Comparison, unit: &str) -> String {
    let Some(difference) = comparison.difference else { return String::new() };
    let scale = if unit == "%" { 100.0 } else { 1.0 };
    let text = with_interval(difference.mean * scale, difference.half_width.map(|half| half * scale));
    let sign = if difference.mean > 0.0 && text != "0" { "+" } else { "" };
    let interval = match difference.half_width {
        None => " (no interval)",
        // All replications agree.
        Some(_) if !text.contains('±') => " ± 0",
        Some(_) => "",
    };
    let unit = if unit.is_empty() { String::new() } else { format!(" {}", unit.replace("us", "µs")) };
    format!("{sign}{text}{interval}{unit}")
}

/// A number without an interval.
fn short(number: f64) -> String {
    number_text(number, 4)
}
