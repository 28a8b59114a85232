//! The summary of a glued run, as plain data.

use crate::coordinator::Coordinator;
use crate::options::{GlueReport, GluedRunError, Levels};
use serde::{Serialize, Serializer};

/// How a glued run ended, and what it took.
#[derive(Clone, Debug, Serialize)]
pub struct GluedSummary {
    /// The name of the assembly.
    pub model: String,
    /// How it ended.
    #[serde(serialize_with = "word")]
    pub status: GluedStatus,
    /// The committed time, in s.
    pub t: f64,
    /// The parts.
    pub parts: Vec<PartSummary>,
    /// Counts and residuals.
    #[serde(flatten)]
    pub counts: ExchangeCounts,
    /// The joints whose reactions are not unique: between parts, those of least size are taken.
    pub reactions_not_unique: Vec<String>,
    /// The reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Counts of windows and exchanges, and the residuals of the interface.
#[derive(Clone, Debug, Serialize)]
pub struct ExchangeCounts {
    /// Committed windows.
    pub windows: usize,
    /// Windows that were rejected because of their error.
    pub rejected: usize,
    /// Attempts: each is one exchange with every part.
    pub exchanges: usize,
    /// The largest number of attempts in a window.
    pub most_exchanges: usize,
    /// Evaluations of the admittance.
    pub admittances: usize,
    /// Recoveries of accelerations and multipliers, for observation.
    pub recoveries: usize,
    /// The largest residuals.
    pub residuals: Levels,
    /// Their tolerances.
    pub tolerances: Levels,
    /// About how far loads from the start of windows have displaced the ports, in m or rad; of explicit coupling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<f64>,
}

/// How a glued run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum GluedStatus {
    /// It is still going on, or was never started.
    Running,
    /// It reached its end.
    Finished,
    /// It stopped.
    Failed(GluedRunError),
}

fn word<S: Serializer>(status: &GluedStatus, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(match status {
        GluedStatus::Running => "running",
        GluedStatus::Finished => "finished",
        GluedStatus::Failed(_) => "failed",
    })
}

/// What one part did.
#[derive(Clone, Debug, Serialize)]
pub struct PartSummary {
    /// Its name.
    pub name: String,
    /// Seconds spent in it, or waiting for it.
    pub seconds: f64,
    /// Windows it has committed.
    pub windows: u64,
    /// Windows it has tried.
    pub iterations: usize,
    /// Whether it steps with the others.
    #[serde(skip)]
    pub in_step: bool,
    /// Number of its ports.
    #[serde(skip)]
    pub ports: usize,
    /// Its messages, if it is remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSummary>,
}

/// The messages between the coordinator and a remote part.
#[derive(Clone, Debug, Serialize)]
pub struct NetworkSummary {
    /// Where the part is.
    pub address: String,
    /// Requests that were answered.
    pub round_trips: u64,
    /// Requests that were repeated.
    pub repeated: u64,
    /// Connections.
    pub links: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Seconds between requests and their answers.
    pub seconds_waiting: f64,
    /// Seconds of work by the part's own clock.
    pub seconds_working: f64,
}

impl GluedSummary {
    /// The present state of a run.
    pub fn of(run: &Coordinator, model: &str, status: GluedStatus) -> GluedSummary {
        let GlueReport {
            windows,
            rejected,
            exchanges,
            most,
            admittances,
            recoveries,
            residuals,
            seconds,
            not_unique,
            lag,
        } = run.report().clone();
        let part = |part: &dyn crate::Subdomain, seconds: f64| {
            let d = part.description();
            let network = part.traffic().map(|t| NetworkSummary {
                address: t.address,
                round_trips: t.round_trips,
                repeated: t.repeated,
                links: t.links,
                bytes_sent: t.bytes[0],
                bytes_received: t.bytes[1],
                seconds_waiting: t.waiting,
                seconds_working: t.working,
            });
            PartSummary {
                name: d.name.clone(),
                seconds,
                windows: run.windows(),
                iterations: exchanges,
                in_step: d.in_step,
                ports: d.ports.len(),
                network,
            }
        };
        let error = match &status {
            GluedStatus::Failed(e) => Some(e.to_string()),
            _ => None,
        };
        GluedSummary {
            model: model.to_string(),
            status,
            t: run.time(),
            parts: run.all_parts().iter().zip(seconds).map(|(p, seconds)| part(&**p, seconds)).collect(),
            counts: ExchangeCounts {
                windows,
                rejected,
                exchanges,
                most_exchanges: most,
                admittances,
                recoveries,
                residuals,
                tolerances: run.options().tolerances,
                lag: lag.by_load.map(|_| lag.largest),
            },
            reactions_not_unique: not_unique,
            error,
        }
    }
}
