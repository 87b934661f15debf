//! How a page was made: of runs only what was noted when they ran, so that the same results make the same page.

use wormcast_simulation::MODEL_VERSION;

use super::{Block, Cell, Section, Table};
use crate::store::origin::{Origin, Program, duration_text, moment};

/// In a line, for those who only want to know how old it is.
pub(super) fn byline(program: Program, origins: &[Origin]) -> String {
    let Some(last) = origins.iter().map(|origin| origin.last).max() else { return program.text() };
    let mut programs: Vec<String> = Vec::new();
    for name in origins.iter().map(Origin::program) {
        if !programs.contains(&name) {
            programs.push(name);
        }
    }
    let replications: u64 = origins.iter().map(|origin| origin.replications).sum();
    let computing = duration_text(origins.iter().map(|origin| origin.computing).sum());
    let runs = if replications == 1 { "run" } else { "runs" };
    format!("{}: {}, {replications} {runs} in {computing} of computing", moment(last).0, programs.join(" and "))
}

/// All of it; `quick` says which version of the experiments it is, if it is one.
pub(super) fn section(program: Program, origins: &[Origin], quick: Option<bool>) -> Section {
    let mut rows: Vec<(&str, String)> = Vec::new();
    for origin in origins {
        let Origin { replications, machine, .. } = origin;
        rows.push((
            "runs",
            format!(
                "{replications} by {} on {machine}; {}; {} of computing",
                origin.program(),
                origin.when(),
                duration_text(origin.computing)
            ),
        ));
    }
    if let Some(quick) = quick {
        rows.push(("version of the experiments", if quick { "quick" } else { "full" }.to_owned()));
    }
    rows.push(("version of the model", MODEL_VERSION.to_string()));
    rows.push(("page", program.text()));
    let rows = rows.into_iter().map(|(name, value)| vec![Cell::Text(name.to_owned()), Cell::Text(value)]).collect();
    Section {
        title: "How this was made".to_owned(),
        anchor: "made".to_owned(),
        level: 1,
        blocks: vec![Block::Table(Table::of_words([], rows))],
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_byline_has_day_programs_runs_and_time() {
        let program = Program { version: "1.0.0", revision: "abc" };
        assert_eq!(byline(program, &[]), "wormcast 1.0.0 (abc)");
        let origin = |version: &str, revision: &str, last, replications| Origin {
            version: version.to_owned(),
            revision: revision.to_owned(),
            machine: "a machine".to_owned(),
            first: 1_795_340_000,
            last,
            replications,
            computing: Duration::from_secs(50),
        };
        let both = [origin("0.9.0", "", 1_795_340_100, 9), origin("1.0.0", "abc", 1_795_440_100, 3)];
        assert_eq!(
            byline(program, &both),
            "2026-11-23: wormcast 0.9.0 and wormcast 1.0.0 (abc), 12 runs in 1 min 40 s of computing"
        );
        let made = format!("{:?}", section(program, &both, None));
        for part in [
            "9 by wormcast 0.9.0 on a machine; 2026-11-22 09:33 to 09:35 UTC; 50 s of computing",
            "3 by wormcast 1.0.0 (abc) on a machine; 2026-11-22 09:33 to 2026-11-23 13:21 UTC; 50 s of computing",
        ] {
            assert!(made.contains(part), "{made}");
        }
    }
}
