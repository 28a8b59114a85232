//! A part as a server offers it.

use crate::wire::{PROTOCOL, Port, Reply, ReplyKind, UNITS, Welcome, put_motions};
use bellcrank_glue::{COUPLINGS, PartModel, PortMotion};
use bellcrank_model::model::Space;

/// What a part reveals beside the motion of its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// The channels of its ports.
    Ports,
    /// Every channel, and its energy.
    All,
}

/// A part on offer: every run gets a copy of its own.
pub struct PartOffer {
    pub(crate) part: PartModel,
    /// SHA-256 of the model file.
    pub(crate) model: Vec<u8>,
    pub(crate) motions: Vec<(String, PortMotion)>,
    show: Show,
}

impl PartOffer {
    /// A part; the text of its model file tells it from others.
    pub fn new(part: PartModel, text: &[u8], show: Show) -> PartOffer {
        let model = ring::digest::digest(&ring::digest::SHA256, text).as_ref().to_vec();
        PartOffer { motions: part.motions(), model, part, show }
    }

    /// Its own name for itself.
    pub fn name(&self) -> &str {
        &self.part.name
    }

    /// The hash of its model.
    pub fn model(&self) -> &[u8] {
        &self.model
    }

    /// The names of its ports.
    pub fn ports(&self) -> Vec<&str> {
        self.motions.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub(crate) fn shows(&self, channel: &str) -> bool {
        let port =
            |(name, _): &(String, PortMotion)| channel.strip_prefix(name.as_str()).is_some_and(|r| r.starts_with('.'));
        self.show == Show::All || self.motions.iter().any(port)
    }

    /// The greeting of a run; `started` if the run has a solver already.
    pub(crate) fn welcome(&self, started: bool) -> Reply {
        let port = |(name, motion): &(String, PortMotion)| Port { name: name.clone(), motion: put_motions([motion]) };
        let can = COUPLINGS.iter().map(|(_, word)| *word).chain(["admittance", "checkpoints", "observe"]);
        let welcome = Welcome {
            protocol: PROTOCOL,
            name: self.part.name.clone(),
            model: self.model.clone(),
            units: UNITS.into(),
            space: if self.part.model.space == Space::Plane { "plane" } else { "space" }.into(),
            ports: self.motions.iter().map(port).collect(),
            capabilities: can.map(str::to_string).collect(),
            started,
        };
        Reply { what: Some(ReplyKind::Welcome(welcome)), ..Reply::default() }
    }
}
