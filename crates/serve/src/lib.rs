//! The browser interface of wormcast: a server on the loopback interface, and the page that it serves.
//!
//! [`serve`] answers for one folder, until it is told to stop. What the page asks and what it gets is written down in `API.md` of this crate;
//! numbers are those of the command, since they come from the same functions of the same libraries.
//!
//! # Guarantees
//!
//! - Nothing outside of the folder is read: neither by `..`, nor by absolute paths, nor through symbolic links, nor because a file in it
//!   names one outside.
//! - `GET` changes nothing. Requests for another host, or from pages of another origin, are refused; so are those without the token, which is
//!   in the address that the server gives: others who use the machine do not get in.
//! - Requests are bounded in size, number and time, and what the server keeps is bounded too: a page that stays open does not make it grow.
//! - The page comes with the program. Neither it nor the server uses the network.

mod answer;
mod api;
mod connections;
mod folder;
mod guard;
mod page;
mod server;
mod work;

pub use folder::Kind;
pub use page::{SCRIPT, STYLE};
pub use server::{Address, ServeError, Settings, serve};
