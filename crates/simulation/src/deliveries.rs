//! The delivery log: who got which message when.

use std::collections::HashMap;
use std::io::{self, Write};

use wormcast_network::NodeId;

use crate::observer::{Cycle, Delivery, Generated, Observer};

/// Keeps every delivery of a run to a destination. Memory: 24 bytes a delivery, 48 a message and 4 a destination.
#[derive(Debug, Default)]
pub struct DeliveryLog {
    messages: HashMap<u64, (NodeId, Cycle, Box<[NodeId]>)>,
    deliveries: Vec<(u64, Cycle, NodeId)>,
}

impl DeliveryLog {
    /// Writes `message,source,destination,generated,delivered` (cycles), one line a delivery, by message and then by time and
    /// destination.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_csv(&self, mut out: impl Write) -> io::Result<()> {
        let mut deliveries = self.deliveries.clone();
        deliveries.sort_unstable();
        writeln!(out, "message,source,destination,generated,delivered")?;
        for (message, delivered, destination) in deliveries {
            if let Some((source, generated, _)) = self.messages.get(&message) {
                writeln!(out, "{message},{source},{destination},{generated},{delivered}")?;
            }
        }
        out.flush()
    }
}

impl Observer for DeliveryLog {
    fn generated(&mut self, message: &Generated<'_>) {
        let mut destinations: Box<[NodeId]> = message.destinations.into();
        destinations.sort_unstable();
        self.messages.insert(message.message, (message.source, message.at, destinations));
    }

    fn delivered(&mut self, delivery: &Delivery) {
        // A node that only sends the message on is no destination.
        let wants = |(_, _, nodes): &(_, _, Box<[NodeId]>)| nodes.binary_search(&delivery.node).is_ok();
        if self.messages.get(&delivery.message).is_none_or(wants) {
            self.deliveries.push((delivery.message, delivery.delivered, delivery.node));
        }
    }
}
