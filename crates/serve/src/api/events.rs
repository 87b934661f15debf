//! Server-sent events: how far sweeps and recordings are.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State as Extracted;
use axum::response::sse::{Event, KeepAlive, KeepAliveStream, Sse};
use futures_core::Stream;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{Given, Shared};
use crate::answer::Refusal;

/// How often is looked whether there is news.
const TICK: Duration = Duration::from_millis(250);

/// What one page has been told.
pub(crate) struct Events {
    state: Shared,
    ticks: Interval,
    /// What was told last, by kind and id: no more than the server knows of.
    told: HashMap<(&'static str, String), String>,
    news: VecDeque<Event>,
}

pub(super) async fn get(
    Extracted(state): Extracted<Shared>,
    given: Given,
) -> Result<Sse<KeepAliveStream<Events>>, Refusal> {
    given.only(&[], &[])?;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let events = Events { state, ticks, told: HashMap::new(), news: VecDeque::new() };
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

impl Events {
    fn look(&mut self) {
        let sweeps = self.state.sweeps.own();
        let recordings = self.state.recordings.all();
        let json = |value: serde_json::Result<String>| value.unwrap_or_default();
        let sweeps = sweeps.iter().map(|sweep| (("sweep", sweep.id().to_owned()), json(serde_json::to_string(sweep))));
        let recordings = recordings
            .iter()
            .map(|recording| (("replay", recording.file().to_owned()), json(serde_json::to_string(recording))));
        let now: HashMap<_, _> = sweeps.chain(recordings).collect();
        for (key, text) in &now {
            if self.told.get(key) != Some(text) {
                self.news.push_back(Event::default().event(key.0).data(text));
            }
        }
        self.told = now;
    }
}

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.news.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if self.ticks.poll_tick(context).is_pending() {
                return Poll::Pending;
            }
            self.look();
        }
    }
}
