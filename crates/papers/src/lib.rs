//! Reproduce what papers on multicast in wormhole networks claim.
//!
//! The catalogue lists the [claims] and what tests each of them: experiments, which the program carries, and checks for what no sweep can
//! test, such as theorems. Choose claims, run what the store does not have yet, and get a verdict on each claim with the evidence for it, as
//! data and as a page:
//!
//! ```no_run
//! use std::num::NonZeroUsize;
//! use std::path::Path;
//!
//! use wormcast_lab::{Program, Store, write_file};
//! use wormcast_papers::{Choice, Explain, Selection, reproduction_page};
//!
//! let folder = Path::new("reproduction");
//! std::fs::create_dir_all(folder.join("experiments"))?;
//! let choice = Choice::named(&["mesh-example".to_owned(), "paper-1-table-1".to_owned()])?;
//! let selection = Selection::prepare(choice, true, &folder.join("experiments"))?;
//! let mut store = Store::open(&folder.join("store.db"))?;
//! let reproduction = selection.run(Explain::Known, NonZeroUsize::MIN, &mut store, &mut ())?;
//! for claim in &reproduction.claims {
//!     println!("{}: {}", claim.claim.id, claim.verdict);
//! }
//! let page = reproduction_page(&reproduction, folder, Program::default())?;
//! write_file(&folder.join("report.html"), page.html().as_bytes())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - A claim is *reproduced* if every sentence of it holds, and *inconclusive* where results are missing or too imprecise; [`PaperVerdict`]
//!   has all six verdicts.
//! - Results that the store has are not simulated again.
//! - Where a sentence fails, other values of the settings that the paper leaves open are tried as far as [`Explain`] asks, and the verdict says under which all
//!   sentences hold, or how many were tried in vain ([`Searched`]).
//!
//! # Where to look next
//!
//! - [`papers`] and [`claims`] are the catalogue; [`Choice`] selects from it by name.
//! - [`Reproduction`] holds the verdicts, with an [`Evidence`] for each test.
//! - [`wormcast_lab`] runs the experiments and judges them.

mod catalogue;
mod checks;
mod choice;
mod conditions;
mod evidence;
mod files;
mod mutants;
mod page;
mod reproduction;
mod sensitivity;
mod verdict;

pub use catalogue::{Paper, PaperClaim, claims, papers};
pub use choice::{Choice, UnknownClaim};
pub use conditions::{Condition, Explain, Opened, Outcome, Searched, SentenceRange, Setting, Tested};
pub use evidence::{Checked, Evidence};
pub use mutants::Mutated;
pub use page::reproduction_page;
pub use reproduction::{
    Exhibit, ReproducedClaim, Reproduction, ReproductionObserver, ReproductionStatus, Selection, SelectionError,
};
pub use sensitivity::Varied;
pub use verdict::{PaperVerdict, Role};
