//! The requests of the page: a module each.

use std::ops::RangeInclusive;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, Uri};
use axum::routing::{MethodRouter, get, post};
use axum::{Router, extract};
use wormcast_lab::Program;
use wormcast_network::text::{did_you_mean, expected_name};

use crate::answer::{Json, Refusal};
use crate::folder::Folder;
use crate::work::{Background, Work};

mod catalogue;
mod choice;
mod curves;
mod events;
mod experiment;
mod info;
mod network;
mod plan;
mod replay;
mod routing;
mod sweeps;

/// What requests share.
pub(crate) struct State {
    pub(crate) folder: Folder,
    /// The file that the command line named.
    pub(crate) opened: Option<String>,
    pub(crate) program: Program,
    pub(crate) work: Work,
    pub(crate) background: Background,
    pub(crate) replays: replay::Replays,
    pub(crate) recordings: replay::Recordings,
    pub(crate) sweeps: sweeps::Sweeps,
}

pub(crate) type Shared = Arc<State>;

impl State {
    pub(crate) fn new(folder: Folder, opened: Option<String>, program: Program) -> Shared {
        Arc::new(Self {
            folder,
            opened,
            program,
            work: Work::new(),
            background: Background::default(),
            replays: replay::Replays::default(),
            recordings: replay::Recordings::default(),
            sweeps: sweeps::Sweeps::default(),
        })
    }

    /// Tells what goes on to end.
    pub(crate) fn end(&self) {
        self.sweeps.end();
        self.recordings.end();
    }
}

/// All requests for data, by where they are.
fn requests() -> [(&'static str, MethodRouter<Shared>); 16] {
    [
        ("/info", get(info::get)),
        ("/catalogue", get(catalogue::get)),
        ("/network", get(network::get)),
        ("/plan", get(plan::get)),
        ("/routing", get(routing::get)),
        ("/dependencies", get(routing::dependencies)),
        ("/replay", get(replay::header).post(replay::record)),
        ("/replay/stop", post(replay::stop)),
        ("/replay/chunk", get(replay::chunk)),
        ("/replay/check", get(replay::check)),
        ("/experiment", get(experiment::get)),
        ("/curves", get(curves::get)),
        ("/distribution", get(curves::distribution)),
        ("/sweeps", get(sweeps::list).post(sweeps::start)),
        ("/sweeps/stop", post(sweeps::stop)),
        ("/events", get(events::get)),
    ]
}

pub(crate) fn routes(state: Shared) -> Router {
    let all = requests().into_iter().fold(Router::new(), |all, (path, request)| all.route(path, request));
    all.fallback(nothing).method_not_allowed_fallback(otherwise).with_state(state)
}

/// Requests are routed by what comes behind `/api`.
async fn nothing(uri: Uri) -> Refusal {
    let (asked, paths) = (format!("/api{}", uri.path()), requests().map(|(path, _)| format!("/api{path}")));
    let hint = did_you_mean(&asked, paths.iter().map(String::as_str));
    Refusal::Missing(format!(
        "there is no data at `{asked}`; API.md of the crate wormcast-serve lists what there is{hint}"
    ))
}

async fn otherwise(method: Method, uri: Uri) -> Refusal {
    let other = if method == Method::POST { "GET, HEAD" } else { "POST" };
    Refusal::OtherMethod(format!("`/api{}` is asked for by {other}, not by {method}", uri.path()), other)
}

/// The body of a request, if it is not too large.
pub(crate) struct Body(Bytes);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        Bytes::from_request(request, state).await.map(Self).map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let longest = crate::server::LONGEST_BODY;
                Refusal::TooLarge(format!("the body of the request has more than {longest} bytes"))
            }
            _ => Refusal::BadInput(format!("the body of the request: {}", rejection.body_text())),
        })
    }
}

/// Does work on a thread of its own, and answers with what it gives.
pub(crate) async fn answer<T: serde::Serialize>(
    state: &Shared,
    work: impl FnOnce(&State) -> Result<T, Refusal> + Send + 'static,
) -> Result<Json, Refusal> {
    let shared = Arc::clone(state);
    state.work.run(move || Json::of(&work(&shared)?)).await
}

/// The parameters of a request, in the order in which they are given. Some may be there several times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Given {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let given = extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        given.map(|extract::Query(given)| Self(given)).map_err(|error| Refusal::BadInput(error.body_text()))
    }
}

impl Given {
    /// Refuses parameters that a request does not have, and those that are there twice and may not be.
    pub(crate) fn only(&self, once: &[&str], often: &[&str]) -> Result<(), Refusal> {
        for (place, (name, _)) in self.0.iter().enumerate() {
            let name = name.as_str();
            if !once.contains(&name) && !often.contains(&name) {
                let known = once.iter().chain(often).copied();
                let expected = if known.clone().next().is_none() {
                    ": none is expected".to_owned()
                } else {
                    expected_name(name, known)
                };
                return Err(Refusal::BadInput(format!("there is no parameter `{name}`{expected}")));
            }
            if once.contains(&name) && self.0[..place].iter().any(|(other, _)| other == name) {
                return Err(Refusal::BadInput(format!("the parameter `{name}` is there twice")));
            }
        }
        Ok(())
    }

    /// A parameter that may be left out, or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(given, value)| given == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// Refuses parameters that make no sense beside others; `why` says what they are.
    pub(crate) fn without(&self, names: &[&str], why: &str) -> Result<(), Refusal> {
        match names.iter().find(|name| self.get(name).is_some()) {
            Some(name) => Err(Refusal::BadInput(format!("`{name}` is {why}: leave it out"))),
            None => Ok(()),
        }
    }

    /// A parameter that has to be there.
    pub(crate) fn need(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::BadInput(format!("expected the parameter `{name}`")))
    }

    /// A whole number in a range.
    pub(crate) fn number<T: TryFrom<u64>>(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<T>, Refusal> {
        let number = |text: &str| {
            let number = text.parse().ok().filter(|number| range.contains(number));
            number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                Refusal::BadInput(format!("`{name}` is `{text}`; expected a whole number from {least} to {most}"))
            })
        };
        self.get(name).map(number).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::requests;

    #[test]
    fn the_reference_has_every_request() {
        let reference = include_str!("../../API.md");
        for (path, _) in requests() {
            let named = ["GET", "POST"].iter().any(|method| {
                let text = format!("`{method} /api{path}");
                reference.match_indices(&text).any(|(at, _)| reference[at + text.len()..].starts_with(['?', '`']))
            });
            assert!(named, "/api{path}");
        }
    }
}
