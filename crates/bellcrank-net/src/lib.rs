//! Parts over a network: gluing them where they are, safely and in spite of faults.
//!
//! The protocol is `proto/bellcrank/part/v1/part.proto`, open to every language. Both ends are written without a network:
//! [`client::Client`] decides what to send, [`registry::RunRegistry`] what a message does, so that a simulated network drives the
//! same code as gRPC does ([`link::GrpcLink`], [`server::Server`]).
//!
//! ```text
//!     Coordinator ─ RemotePart ─ Client ─ Link ·····  Server ─ RunRegistry ─ OnceFilter ─ Session ─ the part with its solver
//!                   Subdomain    when      gRPC       access   runs          each once    what
//! ```

pub mod client;
mod doors;
pub mod filter;
pub mod keys;
pub mod link;
mod locks;
pub mod offer;
pub mod registry;
pub mod remote;
pub mod server;
pub mod session;
pub mod store;
mod tls;
pub mod wire;

pub use client::Timeouts;
pub use keys::Keys;
pub use link::{Address, GrpcLink};
pub use offer::{PartOffer, Show};
pub use registry::{RunRegistry, ServerLimits};
pub use remote::RemotePart;
pub use server::{AccessPolicy, Server};
pub use store::StateFolder;
