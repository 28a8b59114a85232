//! What a run and the process of an FMU say to each other: a length, then plain data.

use super::{Type, Version};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};
use std::path::PathBuf;

/// Bytes of one message: states of FMUs may be large.
const MOST: u32 = 1 << 29;

/// A value that is set before an FMU starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Setting {
    /// A number, or 0 and 1 for a truth value.
    Number(f64),
    /// A text.
    Text(String),
}

/// A variable, as the functions of the standard know it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handle {
    /// Which of these functions.
    pub of: Type,
    /// Its value reference.
    pub reference: u32,
}

/// What there is to integrate of a model exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExchangeStart {
    /// How many continuous states there are.
    pub states: usize,
    /// How many event indicators there are.
    pub indicators: usize,
    /// The value references of states and of their derivatives, where it tells derivatives along a direction.
    pub directional: Option<[Vec<u32>; 2]>,
}

/// What an FMU needs to begin: one message, so that all fields are here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The version of the standard.
    pub version: Version,
    /// The name of the instance.
    pub name: String,
    /// Its token, or its GUID.
    pub token: String,
    /// Where it is unpacked.
    pub folder: PathBuf,
    /// Its library.
    pub library: PathBuf,
    /// How much memory it may take, in bytes.
    pub memory: u64,
    /// Of model exchange: what there is to integrate.
    pub exchange: Option<ExchangeStart>,
    /// Values to be set first.
    pub set: Vec<(Handle, Setting)>,
    /// Its inputs.
    pub inputs: Vec<Handle>,
    /// Its outputs.
    pub outputs: Vec<Handle>,
    /// The values of its inputs.
    pub given: Vec<f64>,
    /// Where time begins and ends, in s.
    pub times: [f64; 2],
    /// The relative tolerance of the run.
    pub tolerance: f64,
}

/// A place of the equations of model exchange.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Instant {
    /// The time, in s.
    pub t: f64,
    /// The continuous states.
    pub x: Vec<f64>,
    /// The inputs.
    pub u: Vec<f64>,
}

/// What a run asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Load it, initialize it, and tell its outputs.
    Start(Box<Start>),
    /// Go on from a time by a step with the inputs as they are, take those at its end, and tell the outputs.
    Step {
        /// The time, in s.
        t: f64,
        /// The communication step, in s.
        h: f64,
        /// The values of the inputs at the end of the step.
        given: Vec<f64>,
    },
    /// Take other inputs, and tell the outputs.
    Look {
        /// The values of the inputs.
        given: Vec<f64>,
    },
    /// Go back to the state that is kept, if asked to; take inputs, hold them over a step (which may be none), and tell the outputs.
    Window {
        /// The time, in s.
        t: f64,
        /// The communication step, in s.
        h: f64,
        /// The values of the inputs over the step.
        given: Vec<f64>,
        /// Whether to go back first.
        back: bool,
    },
    /// Of model exchange: go to a time and a state with inputs, and tell rates of states, outputs and event indicators.
    Equations {
        /// Where.
        at: Instant,
    },
    /// Of model exchange: the derivatives of rates and outputs there, one row for each, by states and inputs.
    Slopes {
        /// Where.
        at: Instant,
    },
    /// Of model exchange: there, do what happens in event mode; tell the time of the next event, whether states changed, and the
    /// states.
    Event {
        /// Where.
        at: Instant,
    },
    /// Of model exchange: a step was accepted that led there; tell whether event mode is wanted.
    Accepted {
        /// Where.
        at: Instant,
    },
    /// Of model exchange: tell the time of the next event, and the states.
    States,
    /// Keep the state, in the place of the one kept before.
    Keep,
    /// Tell the state.
    Save,
    /// Go back to a state, and tell the outputs.
    Restore {
        /// The state.
        state: Vec<u8>,
        /// The values of the inputs there.
        given: Vec<f64>,
    },
}

/// What the process answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The values of the outputs.
    Values(Vec<f64>),
    /// A state.
    State(Vec<u8>),
    /// What failed, and what the FMU said about it.
    Failed(String),
}

/// Sends a message.
pub fn send(to: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_extend(message, vec![0; 4]).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len() - 4).ok().filter(|n| *n <= MOST);
    let length = length.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "a message is too long"))?;
    let mut bytes = bytes;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    to.write_all(&bytes)?;
    to.flush()
}

/// Receives a message.
pub fn receive<T: DeserializeOwned>(from: &mut dyn Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    let strange = || io::Error::new(ErrorKind::InvalidData, "an answer is not understood");
    if length > MOST {
        return Err(strange());
    }
    let mut bytes = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() != length as usize {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map_err(|_| strange())
}
