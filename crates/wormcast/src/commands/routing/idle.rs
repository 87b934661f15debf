//! Options that make no difference to an analysis, or contradict it.

use serde::de::DeserializeOwned;

use crate::analysis::{IdleSetting, Settings};
use crate::commands::warn_of_idle_option;
use crate::failure::Failure;
use crate::simulation::{Buffer, MAX_LENGTH, Reservation};

/// A setting as experiment files spell it.
fn setting<T: DeserializeOwned>(text: &str, expected: &str) -> Result<T, String> {
    let value = text.parse::<u32>().map_or_else(|_| text.into(), serde_json::Value::from);
    serde_json::from_value(value).map_err(|_| format!("expected {expected}"))
}

pub(super) fn buffer(text: &str) -> Result<Buffer, String> {
    let expected = format!("`message`, or 1 to {MAX_LENGTH} flits");
    match setting(text, &expected)? {
        Buffer::Flits(flits) if !(1..=MAX_LENGTH).contains(&flits) => Err(format!("expected {expected}")),
        buffer => Ok(buffer),
    }
}

pub(super) fn reservation(text: &str) -> Result<Reservation, String> {
    setting(text, "`atomic` or `separate`")
}

/// Warns of settings that make no difference.
pub(super) fn warn_of(idle: Vec<IdleSetting>) {
    for IdleSetting { name, reason } in idle {
        warn_of_idle_option(&option(name), true, &reason);
    }
}

/// Where there are only the unicasts of a routing or of tables, refuses options about other worms, and warns of those that make no difference.
pub(super) fn check_unicasts(settings: &Settings, divided: bool) -> Result<(), Failure> {
    warn_of(settings.idle_ports(divided));
    match settings.about_multicasts() {
        Some(name) => Err(Failure::BadInput(format!(
            "`{}` is about worms with several destinations: expected `--algorithm` or `--multicasts`, too",
            option(name)
        ))),
        None => Ok(()),
    }
}

/// The option of a setting.
fn option(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}
