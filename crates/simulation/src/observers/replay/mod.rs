//! A run as a file that can be opened in the middle: every worm, with the channels that it held and what it waited for.
//!
//! docs/replay.md describes the file. [`Replay`] writes one while the run goes on, [`ReplayFile`] reads one.

mod columns;
mod file;
mod measures;
mod reader;
mod record;
mod recorder;
mod settings;

pub use file::{REPLAY_MAGIC, ReplayError};
pub use reader::{ReplayChunk, ReplayFile};
pub use record::{ReplayHop, ReplayWait, ReplayWorm};
pub use recorder::{Replay, ReplayRun};
pub use settings::replay_settings;
