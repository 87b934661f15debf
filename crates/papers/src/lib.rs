//! Reproduce what five papers on multicast in wormhole networks claim.
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
//! use wormcast_papers::{Choice, Selection, reproduction_page};
//!
//! let folder = Path::new("reproduction");
//! std::fs::create_dir_all(folder.join("experiments"))?;
//! let choice = Choice::named(&["mesh-example".to_owned(), "paper-1-table-1".to_owned()])?;
//! let selection = Selection::prepare(choice, true, &folder.join("experiments"))?;
//! let mut store = Store::open(&folder.join("store.db"))?;
//! let reproduction = selection.run(NonZeroUsize::MIN, &mut store, &mut ())?;
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
//! - A claim's verdict is the worst of its evidence: *not reproduced* if any test fails, or else *inconclusive* where results are missing or
//!   too imprecise.
//! - Results that the store has are not simulated again.
//! - Where a claim is not reproduced, the reproduction also runs the variations of settings that its experiments name, in their quick
//!   versions, and says which of them change the verdict. A quick reproduction runs none.
//!
//! # Where to look next
//!
//! - [`papers`] and [`claims`] are the catalogue; [`Choice`] selects from it by name.
//! - [`Reproduction`] holds the verdicts, with an [`Evidence`] for each test.
//! - [`wormcast_lab`] runs the experiments and judges them.

mod catalogue;
mod checks;
mod choice;
mod evidence;
mod files;
mod page;
mod reproduction;
mod sensitivity;

pub use catalogue::{Paper, PaperClaim, claims, papers};
pub use choice::{Choice, UnknownClaim};
pub use evidence::{Checked, Evidence};
pub use page::reproduction_page;
pub use reproduction::{Exhibit, ReproducedClaim, Reproduction, ReproductionObserver, Selection, SelectionError};
pub use sensitivity::Varied;
