//! A comparison for people.

use std::io::Write;

use crate::lab::{
    ComparedPoint, DecisionCost, Estimate, Relation, SeriesComparison, Standing, State, in_percent, setting_unit,
};

/// Writes it; `names` are the series that were asked for. Of two, it is said how the one that was named first is to the other.
pub(super) fn print(comparison: &SeriesComparison, names: &[String], out: &mut dyn Write) -> std::io::Result<()> {
    let SeriesComparison { key, series, reference, quantity, confidence, points, crossings, .. } = comparison;
    let unit = if comparison.unit == "us" { "µs" } else { &comparison.unit };
    let name = if unit.is_empty() { quantity.name().to_owned() } else { format!("{}, {unit}", quantity.name()) };
    let unit_along = comparison.along.as_ref().and_then(|along| Some(format!("; {along} in {}", setting_unit(along)?)));
    let confidence = format!("{}% confidence each{}", in_percent(*confidence), unit_along.unwrap_or_default());
    let duel = duel(comparison, names);
    match (reference, duel) {
        (_, Some([first, other])) => writeln!(out, "{first} against {other}: {name}; differences with {confidence}")?,
        (Some(one), None) => writeln!(out, "{one} against each other {key}: {name}; differences with {confidence}")?,
        (None, None) => {
            let count = series.len();
            writeln!(
                out,
                "{count} values of {key}, each against each: {name}; differences from the best {} with {confidence}",
                quantity.statistic()
            )?;
        }
    }
    let width = series.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let column = points.iter().map(|point| place(comparison, point, duel.is_some()).chars().count()).max().unwrap_or(0);
    for point in points {
        let place = place(comparison, point, duel.is_some());
        if let Some([first, _]) = duel {
            let winner = point.best.as_deref().unwrap_or(if point.all_fail().is_some() { "nobody" } else { "open" });
            let lead = if place.is_empty() { String::new() } else { format!("{place:<column$}  ") };
            let mark = if point.depends_on_windows() { " *" } else { "" };
            writeln!(out, "  {lead}{winner:<width$}  {}{mark}", two(point, first, unit))?;
        } else {
            if !place.is_empty() {
                writeln!(out, "{place}")?;
            }
            for standing in &point.standings {
                writeln!(out, "  {}", line(point, standing, width))?;
            }
        }
    }
    for crossing in crossings {
        writeln!(out, "{crossing}")?;
    }
    if points.iter().any(ComparedPoint::depends_on_windows) {
        writeln!(
            out,
            "* this {} still depends on the length of the runs; what is certain holds for runs of this length",
            quantity.statistic()
        )?;
    }
    summary(comparison, out)?;
    if let Some(DecisionCost { budget, spent, done, needed, at_least, stuck }) = comparison.decision {
        let outcome = match needed {
            _ if done && reference.is_none() && points.iter().any(|point| is_open(point) && !point.added) => {
                "everything is decided, except between series that are equal in all pairs".to_owned()
            }
            _ if done && reference.is_none() && points.iter().any(is_open) => {
                "everything is decided, except which series is best at added points".to_owned()
            }
            _ if done => "everything is decided".to_owned(),
            Some(needed) => {
                let about = if at_least { "at least" } else { "about" };
                format!("{about} {needed} more would decide the rest, if differences stay what they are")
            }
            None if stuck => "no further replications or values decide the rest".to_owned(),
            None => "more would be needed to decide the rest".to_owned(),
        };
        writeln!(out, "Added {spent} of {budget} replications: {outcome}")?;
    }
    Ok(())
}

/// The two series that are compared with each other, the one that was named first in front; `None` if there are others.
fn duel<'a>(comparison: &'a SeriesComparison, names: &[String]) -> Option<[&'a str; 2]> {
    match (&comparison.reference, &comparison.series[..]) {
        (Some(_), [a, b]) if names.first() == Some(b) => Some([b, a]),
        (Some(_), [a, b]) => Some([a, b]),
        _ => None,
    }
}

/// Where a point is, if there are several; the name of the axis is left out where a column has its values.
fn place(comparison: &SeriesComparison, point: &ComparedPoint, in_column: bool) -> String {
    let at = match &comparison.along {
        Some(along) if !in_column => format!("{along}={}", point.at),
        _ => point.at.clone(),
    };
    let place =
        [point.of.as_str(), at.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    if point.added { format!("{place} (added)") } else { place }
}

/// Whether it is not certain which series is the best, though one may be.
fn is_open(point: &ComparedPoint) -> bool {
    point.best.is_none() && point.all_fail().is_none()
}

/// The series with the best mean of those that may be the best: the standings are sorted by their means.
fn favourite(point: &ComparedPoint) -> Option<&str> {
    let mut names = point.standings.iter().map(|standing| standing.series.as_str());
    names.find(|name| point.contenders.iter().any(|contender| contender == name))
}

/// A series with its value, what is certain of it, and its difference.
fn line(point: &ComparedPoint, standing: &Standing, width: usize) -> String {
    let Standing { series, state, value, difference, same_messages, relation } = standing;
    let word = match (state, relation) {
        (State::Saturated, _) => "saturated",
        (State::Deadlocked, _) => "deadlocked",
        (State::NoResult, _) => "no result",
        _ if point.best.as_ref() == Some(series) => "best",
        (_, Some(Relation::Worse)) => "worse",
        (_, Some(Relation::Better)) => "better",
        (_, None) if !point.contenders.contains(series) => "not best",
        (_, None) if favourite(point) == Some(series) => "may be best",
        (_, None) => "open",
    };
    let mark = if *state == State::Unsettled { " *" } else { "" };
    let value = value.map_or_else(String::new, |value| format!("{}{mark}", value.text()));
    let difference = difference.map_or_else(String::new, |difference| signed(&difference, "", *same_messages));
    let why = standing.open_because().map_or_else(String::new, |why| format!(" ({why})"));
    format!("{series:<width$}  {word:<11}  {value:<16}  {difference}{why}").trim_end().to_owned()
}

/// A difference with its sign, unit and number of pairs, or of runs on each side where these met other messages.
fn signed(difference: &Estimate, unit: &str, same_messages: Option<bool>) -> String {
    let sign = if difference.mean > 0.0 { "+" } else { "" };
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let of = match (same_messages, difference.count) {
        (Some(false), _) => "runs each, of other messages",
        (_, 1) => "pair",
        _ => "pairs",
    };
    format!("{sign}{}{unit}, {} {of}", difference.text(), difference.count)
}

/// How the first of two series is to the other, whichever of them the point's difference is from.
fn two(point: &ComparedPoint, first: &str, unit: &str) -> String {
    let [a, b] = &point.standings[..] else { return String::new() };
    let equal =
        |difference: &Estimate| difference.count > 1 && difference.mean == 0.0 && difference.half_width == Some(0.0);
    if let Some(difference) = [a, b].into_iter().find_map(|standing| standing.difference.filter(equal)) {
        return format!("equal in all {} pairs", difference.count);
    }
    for standing @ Standing { series, difference, same_messages, .. } in [a, b] {
        if let Some(difference) = difference {
            let mean = if series == first { difference.mean } else { -difference.mean };
            let why = standing.open_because().map_or_else(String::new, |why| format!(" ({why})"));
            return format!("{}{why}", signed(&Estimate { mean, ..*difference }, unit, *same_messages));
        }
    }
    match (a.state, b.state) {
        (State::Saturated, State::Saturated) => "both are saturated".to_owned(),
        (State::Deadlocked, State::Deadlocked) => "both deadlock".to_owned(),
        _ => {
            let said = [a, b].map(|standing| match standing.state {
                State::Measured | State::Unsettled => None,
                State::Saturated => Some(format!("{} is saturated", standing.series)),
                State::Deadlocked => Some(format!("{} deadlocks", standing.series)),
                State::NoResult => Some(format!("{} has no result", standing.series)),
            });
            let said: Vec<String> = said.into_iter().flatten().collect();
            if said.is_empty() { "no replication in which both have a value".to_owned() } else { said.join(", ") }
        }
    }
}

/// How often each series is the best, and at how many points that is open, or none is.
fn summary(comparison: &SeriesComparison, out: &mut dyn Write) -> std::io::Result<()> {
    let SeriesComparison { series, points, .. } = comparison;
    let mut parts = Vec::new();
    for name in series {
        let wins = points.iter().filter(|point| point.best.as_ref() == Some(name)).count();
        if wins > 0 {
            parts.push(format!("{name} at {wins}"));
        }
    }
    let mut fails: Vec<(&str, usize)> = Vec::new();
    for why in points.iter().filter_map(ComparedPoint::all_fail) {
        match fails.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += 1,
            None => fails.push((why, 1)),
        }
    }
    let open = points.iter().filter(|point| is_open(point)).count();
    let mut rest = Vec::new();
    if open > 0 {
        rest.push(format!("{open} open"));
    }
    rest.extend(fails.iter().map(|(why, count)| {
        // All series, at so many points.
        let of = if *count == 1 { "point" } else { "points" };
        format!("{why} at {count} {of}")
    }));
    let rest = if rest.is_empty() { String::new() } else { format!("; {}", rest.join(", ")) };
    let of = if points.len() == 1 { "point" } else { "points" };
    let count = points.len();
    match (count, parts.is_empty()) {
        (1, true) => writeln!(out, "No series is certainly the best{rest}"),
        (_, true) => writeln!(out, "No series is certainly the best at any of {count} points{rest}"),
        (..) => writeln!(out, "Certainly the best, of {count} {of}: {}{rest}", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorted by their means, as points are.
    fn point(contenders: &[&str], standings: &[(&str, f64, Option<Relation>)]) -> ComparedPoint {
        let standing = |&(series, mean, relation): &(&str, f64, Option<Relation>)| Standing {
            series: series.to_owned(),
            state: State::Measured,
            value: Some(Estimate { mean, half_width: None, ends: None, count: 1 }),
            difference: None,
            same_messages: None,
            relation,
        };
        ComparedPoint {
            of: String::new(),
            at: String::new(),
            added: false,
            best: None,
            contenders: contenders.iter().map(|&name| name.to_owned()).collect(),
            reference: Some("named".to_owned()),
            standings: standings.iter().map(standing).collect(),
        }
    }

    fn lines(point: &ComparedPoint) -> Vec<String> {
        let words = |line: String| line.split_whitespace().collect::<Vec<_>>().join(" ");
        point.standings.iter().map(|standing| words(line(point, standing, 5))).collect()
    }

    #[test]
    fn who_may_be_best_has_the_best_mean_of_those_that_remain() {
        let worse = Some(Relation::Worse);
        let open = point(&["named", "ahead"], &[("ahead", 1.0, None), ("named", 2.0, None), ("last", 3.0, worse)]);
        assert_eq!(lines(&open), ["ahead may be best 1", "named open 2", "last worse 3"]);
        // Who is worse than somebody does not remain, whatever its mean.
        let beaten = point(&["other", "third"], &[("named", 1.0, None), ("other", 2.0, None), ("third", 3.0, None)]);
        assert_eq!(lines(&beaten), ["named not best 1", "other may be best 2", "third open 3"]);
        let better = Some(Relation::Better);
        let behind = point(&["other", "third"], &[("other", 1.0, better), ("third", 2.0, None), ("named", 3.0, None)]);
        assert_eq!(lines(&behind), ["other better 1", "third open 2", "named not best 3"]);
    }
}
