//! Floor 6 of wormcast: five papers on multicast in wormhole networks.
//!
//! The [catalogue](claims) says what they claim, and what measures it: experiments, which the program carries, and checks of what no sweep
//! can test. A [`Choice`] of claims makes a [`Selection`] of both, which [runs](Selection::run) what a store has not. What comes of it is a
//! [`Reproduction`]: each claim with its verdict and the evidence for it, as data and as a [page](reproduction_page).
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
//! let selection = Selection::new(choice, true, &folder.join("experiments"))?;
//! let mut store = Store::open(&folder.join("store.db"))?;
//! let reproduction = selection.run(NonZeroUsize::MIN, &mut store, &mut ())?;
//! for claim in &reproduction.claims {
//!     println!("{}: {}", claim.claim.id, claim.verdict);
//! }
//! let page = reproduction_page(&reproduction, folder, Program::default())?;
//! write_file(&folder.join("report.html"), page.html().as_bytes())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
