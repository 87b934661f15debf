//! Typed ids. All are dense indices from 0, so they double as positions in flat arrays.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(u32);

        impl $name {
            /// The id with this index.
            #[inline]
            pub const fn new(index: u32) -> Self {
                Self(index)
            }

            /// The index as a plain number, for storage and output.
            #[inline]
            pub const fn raw(self) -> u32 {
                self.0
            }

            /// The index as a position in an array.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A router: it forwards flits between channels.
    RouterId
}
id! {
    /// A node: a processor attached to a router, the source and destination of messages.
    NodeId
}
id! {
    /// A directed channel that moves at most one flit a cycle.
    ///
    /// The channels between routers come first; see [`ChannelSpace`](crate::ChannelSpace) for the injection and
    /// consumption channels that follow them.
    ChannelId
}
