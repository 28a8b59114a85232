//! Parts over a network: gluing them where they are, safely and in spite of faults.
//!
//! The protocol is `proto/bellcrank/part/v1/part.proto`, open to every language. Its two ends are written without a
//! network: [`client::Client`] says what to send, [`session::Desk`] what a message does, so that a simulated network drives the
//! same code as gRPC does ([`link::GrpcLink`], [`server::Server`]).
//!
//! ```text
//!     Coordinator ─ RemotePart ─ Client ─ Link ·····  Server ─ Desk ─ Gate ─ Session ─ the part with its solver
//!                   Subdomain    when      gRPC       who      runs   once   what
//! ```

pub mod client;
pub mod keys;
pub mod link;
pub mod remote;
pub mod server;
pub mod session;
pub mod wire;

pub use client::Patience;
pub use keys::Keys;
pub use link::{GrpcLink, Way};
pub use remote::RemotePart;
pub use server::{Guard, Server};
pub use session::{Desk, Folder, Limits, Offer, Show};
