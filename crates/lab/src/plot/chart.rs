//! The contents of a plot: curves, and which series is best where.

/// A plot before it is laid out.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) across: Across,
    pub(crate) log_y: bool,
    /// Whether heights below 0 mean something; else intervals end there.
    pub(crate) signed: bool,
    pub(crate) curves: Vec<Curve>,
    pub(crate) bands: Vec<Band>,
    /// What is said below the plot.
    pub(crate) notes: Vec<String>,
}

/// What runs along the horizontal axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Across {
    /// Numbers that were set, so that what is between two of them is between their results.
    Set { log: bool },
    /// Numbers that were measured.
    Measured { log: bool },
    /// Names, at 0, 1, 2, …
    Names(Vec<String>),
}

/// One line of a plot.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Curve {
    /// Its name in the legend.
    pub(crate) label: String,
    /// Its marks from left to right, or in the sweep's order if the horizontal axis is measured.
    pub(crate) marks: Vec<Mark>,
}

/// One point of a plot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) y: Height,
    /// Whether its marker is open: a value with a reservation.
    pub(crate) open: bool,
    /// Whether it is marked as a value without an interval, where others have one.
    pub(crate) bare: bool,
}

/// How high a mark is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Height {
    /// A value, and the ends of its interval.
    Value(f64, Option<[f64; 2]>),
    /// Beyond the plot: latency without bound.
    Saturated,
    /// Nothing arrives any more.
    Deadlocked,
}

/// Which series is certainly the best along the horizontal axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Band {
    /// What it is about, if there are several.
    pub(crate) label: String,
    /// Places from left to right.
    pub(crate) places: Vec<(f64, Best)>,
}

/// Which curve is the best at a place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Best {
    /// Certainly the one with this number.
    Certain(usize),
    /// One of these, as far as is known.
    Open(Vec<usize>),
    /// None has a value.
    Nobody,
}

impl Mark {
    /// Its height, and the ends of its interval.
    pub(crate) fn value(&self) -> Option<(f64, Option<[f64; 2]>)> {
        if let Height::Value(y, interval) = self.y { Some((y, interval)) } else { None }
    }
}

impl Chart {
    pub(crate) fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.curves.iter().flat_map(|curve| &curve.marks)
    }

    /// The only place on the horizontal axis, if all marks are there.
    pub(crate) fn only_place(&self) -> Option<f64> {
        let first = self.marks().next()?.x;
        self.marks().all(|mark| mark.x.total_cmp(&first).is_eq()).then_some(first)
    }

    /// With all marks at one place, the curves beside each other, under their names: above each other they would hide each other.
    pub(crate) fn beside(mut self, x_label: String) -> Self {
        let labels = self.curves.iter().map(|curve| curve.label.clone()).collect();
        for (index, curve) in self.curves.iter_mut().enumerate() {
            for mark in &mut curve.marks {
                mark.x = index as f64;
            }
        }
        for band in &mut self.bands {
            // Each where its name is.
            let all: Vec<Best> = std::mem::take(&mut band.places).into_iter().map(|(_, best)| best).collect();
            let here = |index: usize| match &all[..] {
                [Best::Certain(best)] if *best == index => Best::Certain(index),
                [Best::Open(contenders)] if contenders.contains(&index) => Best::Open(vec![index]),
                _ => Best::Nobody,
            };
            band.places = (0..self.curves.len()).map(|index| (index as f64, here(index))).collect();
        }
        Self { x_label, across: Across::Names(labels), ..self }
    }

    /// Whether each curve is one mark above its own name.
    pub(crate) fn is_beside(&self) -> bool {
        let Across::Names(names) = &self.across else { return false };
        self.curves.len() == names.len()
            && self.curves.iter().zip(names).all(|(curve, name)| curve.marks.len() == 1 && curve.label == *name)
    }

    /// Everything that it shows in words, for those who cannot see it.
    pub(crate) fn described(&self) -> String {
        let shows = format!("{} against {}", self.y_label, self.x_label);
        let names: Vec<&str> =
            self.curves.iter().map(|curve| curve.label.as_str()).filter(|name| !name.is_empty()).collect();
        let of = if names.is_empty() { String::new() } else { format!(" of {}", names.join("; ")) };
        let mut sentences =
            vec![if self.title.is_empty() { shows + &of } else { format!("{}: {shows}{of}", self.title) }];
        for (height, what) in [(Height::Saturated, "Saturated"), (Height::Deadlocked, "Deadlocked")] {
            let first = |curve: &Curve| curve.marks.iter().find(|mark| mark.y == height).map(|mark| mark.x);
            let from = self.curves.iter().filter_map(|curve| Some(self.at(&curve.label, first(curve)?)));
            let from: Vec<String> = from.collect();
            if !from.is_empty() {
                sentences.push(format!("{what}: {}", from.join("; ")));
            }
        }
        for band in &self.bands {
            let best = band.places.iter().filter_map(|(x, best)| match best {
                Best::Certain(best) => Some(self.at(&self.curves[*best].label, *x)),
                Best::Open(_) | Best::Nobody => None,
            });
            let best: Vec<String> = best.collect();
            let of = if band.label.is_empty() { String::new() } else { format!(" ({})", band.label) };
            let best = if best.is_empty() { "open everywhere".to_owned() } else { best.join("; ") };
            sentences.push(format!("Certainly the best{of}: {best}"));
        }
        sentences.join(". ")
    }

    fn at(&self, label: &str, x: f64) -> String {
        match &self.across {
            Across::Names(_) if self.is_beside() => label.to_owned(),
            Across::Names(names) => format!("{label} at {}", names.get(x as usize).map_or("", String::as_str)),
            Across::Set { .. } | Across::Measured { .. } => format!("{label} at {x}"),
        }
    }
}
