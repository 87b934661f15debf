//! What has to be compared for a claim about a quantity.

use super::Finding;
use super::evidence::{Evidence, Pending};
use super::measurements::{Cell, Measurements};
use crate::experiment::claim::{Falls, Gap, Order, RiseEnd, Scope, Values};
use crate::statistics::{differences, number_text, unless_noise};

impl Measurements<'_> {
    /// One group for each pair of series.
    pub(super) fn order(&self, order: &Order) -> Vec<Vec<Pending>> {
        let mut groups = Vec::new();
        for context in 0..self.contexts.len() {
            for lower in &order.lower {
                for higher in &order.higher {
                    let excess = |cells: &[(usize, f64)]| self.excess(context, lower, higher, order.by, cells);
                    let question = |at: String, evidence| Pending {
                        series: self.name(context, lower),
                        // What the difference is from.
                        against: if order.by == 0.0 {
                            higher.clone()
                        } else {
                            format!("{}% of {higher}", (100.0 * (1.0 - order.by)).round())
                        },
                        at,
                        evidence,
                    };
                    let each: Vec<(String, Vec<(usize, f64)>)> = if order.rise.is_empty() {
                        self.places.iter().enumerate().map(|(i, place)| (place.text.clone(), vec![(i, 1.0)])).collect()
                    } else {
                        let rise = |[a, b]: &[RiseEnd; 2]| {
                            let find =
                                |x: &RiseEnd| self.places.iter().position(|place| x.is(place.number, &place.text));
                            Some((format!("{a} to {b}"), vec![(find(b)?, 1.0), (find(a)?, -1.0)]))
                        };
                        order.rise.iter().filter_map(rise).collect()
                    };
                    groups.push(match order.scope {
                        Scope::Each | Scope::Somewhere => {
                            each.into_iter().map(|(at, cells)| question(at, excess(&cells))).collect()
                        }
                        Scope::Average => {
                            let share = 1.0 / each.len().max(1) as f64;
                            let cells = each.iter().flat_map(|(_, cells)| cells);
                            let cells: Vec<_> = cells.map(|&(place, weight)| (place, weight * share)).collect();
                            vec![question(self.on_average(), excess(&cells))]
                        }
                    });
                }
            }
        }
        groups
    }

    /// By replication, how much a weighted sum over places is more for the lower series than for the higher one.
    fn excess(&self, context: usize, lower: &str, higher: &str, by: f64, cells: &[(usize, f64)]) -> Evidence {
        // How much more of something there is than of something else does not grow beyond all bounds where both do.
        let unbounded_is_more = self.claim.over().is_none();
        let mut differences: Option<Vec<f64>> = None;
        let mut settled = None;
        let mut largest = 0.0f64;
        for &(place, weight) in cells {
            match (self.at(context, lower, place), self.at(context, higher, place)) {
                (Cell::Values(low), Cell::Values(high)) => {
                    let of_all = low.iter().chain(high).fold(0.0f64, |most, value| most.max(value.abs()));
                    largest = largest.max(weight.abs() * of_all * (1.0 - by).abs().max(1.0));
                    let here = low.iter().zip(high).map(|(low, high)| weight * (low - (1.0 - by) * high));
                    differences = Some(match differences {
                        None => here.collect(),
                        Some(sum) => sum.iter().zip(here).map(|(sum, here)| sum + here).collect(),
                    });
                }
                // Without bound at one place, whatever there is at the others; but not one way here and the other way there.
                (Cell::Unbounded, Cell::Values(_) | Cell::NoInterval)
                    if unbounded_is_more && weight > 0.0 && settled != Some(Finding::Holds) =>
                {
                    settled = Some(Finding::Fails);
                }
                (Cell::Values(_) | Cell::NoInterval, Cell::Unbounded)
                    if unbounded_is_more && weight > 0.0 && settled != Some(Finding::Fails) =>
                {
                    settled = Some(Finding::Holds);
                }
                (low, high) => return Evidence::Settled(unsettled([low, high])),
            }
        }
        if let Some(finding) = settled {
            return Evidence::Settled(finding);
        }
        let evidence = |values| Evidence::Differences(unless_noise(values, largest));
        differences.map_or(Evidence::Settled(Finding::Missing), evidence)
    }

    /// One group for each series.
    pub(super) fn falls(&self, falls: &Falls) -> Vec<Vec<Pending>> {
        let mut groups = Vec::new();
        let Some(last) = self.places.len().checked_sub(1) else { return groups };
        for context in 0..self.contexts.len() {
            for series in &falls.series {
                let end = self.at(context, series, last);
                let question = |place: usize| Pending {
                    series: self.name(context, series),
                    against: format!("at {}", self.places[place].text),
                    at: self.places[last].text.clone(),
                    evidence: match (end, self.at(context, series, place)) {
                        (Cell::Values(end), Cell::Values(before)) => {
                            let pairs = end.iter().zip(before);
                            Evidence::Differences(differences(
                                pairs.map(|(&end, before)| (end, (1.0 - falls.by) * before)),
                            ))
                        }
                        (Cell::Values(_) | Cell::NoInterval, Cell::Unbounded) => Evidence::Settled(Finding::Holds),
                        (Cell::Unbounded, Cell::Values(_) | Cell::NoInterval) => Evidence::Settled(Finding::Fails),
                        (end, before) => Evidence::Settled(unsettled([end, before])),
                    },
                };
                groups.push((0..last).map(question).collect());
            }
        }
        groups
    }

    /// One group for each series.
    pub(super) fn values(&self, values: &Values) -> Vec<Vec<Pending>> {
        let mut groups = Vec::new();
        for context in 0..self.contexts.len() {
            for (series, expected) in &values.of {
                let question = |(place, expected): (usize, f64)| Pending {
                    series: self.name(context, series),
                    against: number_text(expected, 6),
                    at: self.places[place].text.clone(),
                    evidence: match self.at(context, series, place) {
                        Cell::Values(found) => {
                            let deviations = differences(found.iter().map(|&value| (value, expected)));
                            let certain =
                                self.entry(context, series, place).is_some_and(|entry| entry.equal_are_certain);
                            Evidence::Deviations(deviations, values.tolerance, certain)
                        }
                        Cell::Unbounded => Evidence::Settled(Finding::Fails),
                        cell => Evidence::Settled(unsettled([cell])),
                    },
                };
                let claimed = self.places.iter().enumerate().filter_map(|(place, at)| {
                    let claimed = self.claimed.iter().position(|claimed| claimed.is(at))?;
                    Some((place, *expected.get(claimed)?))
                });
                groups.push(claimed.filter(|(_, expected)| !expected.is_nan()).map(question).collect());
            }
        }
        groups
    }

    /// One group for each series. Cells hold the shares themselves.
    pub(super) fn gap(&self, gap: &Gap) -> Vec<Vec<Pending>> {
        let (least, most) = (gap.at_least.unwrap_or(f64::NEG_INFINITY), gap.at_most.unwrap_or(f64::INFINITY));
        let mut groups = Vec::new();
        for context in 0..self.contexts.len() {
            for series in &gap.series {
                let question = |at: String, evidence| Pending {
                    series: self.name(context, series),
                    against: gap.over.name().to_owned(),
                    at,
                    evidence,
                };
                let cells = (0..self.places.len()).map(|place| (place, self.at(context, series, place)));
                // Where there is no latency, nothing is claimed of it.
                let cells: Vec<_> = cells.filter(|(_, cell)| **cell != Cell::Unbounded).collect();
                let shares = |of: Vec<f64>| Evidence::Shares { of: unless_noise(of, 1.0), least, most };
                groups.push(if gap.scope == Scope::Average {
                    let values: Option<Vec<&Vec<f64>>> = cells
                        .iter()
                        .map(|(_, cell)| if let Cell::Values(values) = cell { Some(values) } else { None })
                        .collect();
                    let evidence = match values.as_deref() {
                        None | Some([]) => Evidence::Settled(unsettled(cells.iter().map(|&(_, cell)| cell))),
                        Some(places) => {
                            let runs = places.iter().map(|values| values.len()).min().unwrap_or(0);
                            let mean = |run| places.iter().map(|values| values[run]).sum::<f64>() / places.len() as f64;
                            shares((0..runs).map(mean).collect())
                        }
                    };
                    vec![question(self.on_average(), evidence)]
                } else {
                    let at = |(place, cell): (usize, &Cell)| {
                        let evidence = match cell {
                            Cell::Values(values) => shares(values.clone()),
                            cell => Evidence::Settled(unsettled([cell])),
                        };
                        question(self.places[place].text.clone(), evidence)
                    };
                    cells.into_iter().map(at).collect()
                });
            }
        }
        groups
    }
}

/// What follows of cells that cannot be compared: more runs help only if nothing else is missing.
fn unsettled<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> Finding {
    let mut cells = cells.into_iter().filter(|cell| !matches!(cell, Cell::Values(_))).peekable();
    let few = cells.peek().is_some() && cells.all(|cell| *cell == Cell::NoInterval);
    if few { Finding::NoInterval } else { Finding::Missing }
}
