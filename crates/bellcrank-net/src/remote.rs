//! A part that lives somewhere else, as a [`Subdomain`].

use crate::client::{Client, Fault, Next, Patience, RunId};
use crate::wire::{
    Ask, Attempt, Begin, Leave, Observe, Refusal, Reply, Request, Restore, Save, Soften, Stamp, Start, Tell,
    take_motions,
};
use bellcrank_glue::{Description, Motion, PartError, Remote, Response, Solver, Subdomain, Traffic, Upcoming, Window};
use bellcrank_model::dynamics::Channel;
use bellcrank_model::model::Space;
use prost::Message;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// Why there is no link.
#[derive(Clone, Debug, PartialEq)]
pub struct Down {
    /// In words.
    pub why: String,
    /// Whether there is no point in trying again.
    pub last: bool,
}

/// What came over a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Came {
    /// A message.
    Reply(Reply),
    /// Nothing, until the time that was asked for.
    Nothing,
    /// The link is no more.
    Down(Down),
}

/// What carries messages to a part and back, and has a clock.
pub trait Link: Send {
    /// The present time.
    fn now(&self) -> Duration;
    /// Makes a link, and drops the one there was.
    fn connect(&mut self, within: Duration) -> Result<(), Down>;
    /// Sends a message, or loses it.
    fn send(&mut self, request: &Request);
    /// Waits for a message until a time.
    fn receive(&mut self, until: Duration) -> Came;
    /// A name for a run that nobody can guess.
    fn name_of_run(&mut self) -> RunId;
    /// Where the part is, for people.
    fn address(&self) -> String;
}

/// Most ports and channels a part may have: more is a mistake, or worse.
const MOST: usize = 10_000;

/// What gRPC puts before every message.
const FRAME: u64 = 5;

/// A part behind a link.
pub struct RemotePart {
    description: Description,
    motions: Vec<(String, Motion)>,
    channels: Vec<Channel>,
    link: Box<dyn Link>,
    client: Client,
    solver: Option<Solver>,
    /// What is to be committed with the next request.
    commit: Option<Stamp>,
    /// What is under way before it was asked for.
    announced: Option<Ask>,
    tried: Option<Stamp>,
    iteration: u64,
    /// The last window that was answered, and its end.
    last: Option<(u64, f64)>,
    forgot: bool,
    /// A request was given up, and why: only a new run is safe.
    lost: Option<PartError>,
    bytes: [u64; 2],
}

impl RemotePart {
    /// Reaches a part, under the name it has in the assembly.
    pub fn connect(name: &str, mut link: Box<dyn Link>, patience: Patience) -> Result<RemotePart, PartError> {
        let client = Client::new(link.name_of_run(), patience);
        let description =
            Description { name: name.to_string(), space: Space::Space, ports: Vec::new(), in_step: false };
        let mut part = RemotePart {
            description,
            motions: Vec::new(),
            channels: Vec::new(),
            link,
            client,
            solver: None,
            commit: None,
            announced: None,
            tried: None,
            iteration: 0,
            last: None,
            forgot: false,
            lost: None,
            bytes: [0; 2],
        };
        part.client.greet(part.link.now());
        part.drive()?;
        let welcome = part.client.welcome().cloned().unwrap_or_default();
        part.description.space = match welcome.space.as_str() {
            "plane" => Space::Plane,
            "space" => Space::Space,
            other => return Err(part.refused(Refusal::of("where it lives", "plane or space", format!("{other:?}")))),
        };
        if welcome.ports.is_empty() || welcome.ports.len() > MOST {
            return Err(part.refused(Refusal::of("its ports", format!("1 to {MOST}"), welcome.ports.len())));
        }
        for port in &welcome.ports {
            let motion = take_motions(&port.motion, 1).map_err(|r| part.refused(r))?;
            part.motions.push((port.name.clone(), motion[0]));
        }
        part.description.ports = part.motions.iter().map(|(name, _)| name.clone()).collect();
        Ok(part)
    }

    /// The hash of its model.
    pub fn model(&self) -> &[u8] {
        self.client.welcome().map_or(&[], |w| &w.model)
    }

    fn error(&self, why: impl ToString) -> PartError {
        PartError { part: self.description.name.clone(), why: why.to_string() }
    }

    fn refused(&self, refusal: Refusal) -> PartError {
        self.error(refusal)
    }

    /// Where it was last heard of.
    fn whereabouts(&self) -> String {
        match self.last {
            Some((window, t)) => format!("its last window was {window}, to t = {t} s"),
            None => "it has crossed no window yet".into(),
        }
    }

    fn fault(&mut self, fault: Fault) -> PartError {
        let refused = matches!(fault, Fault::Refused(_));
        let error = self.in_words(fault);
        if !refused {
            self.lost = Some(error.clone());
        }
        error
    }

    fn in_words(&mut self, fault: Fault) -> PartError {
        let (address, last) = (self.link.address(), self.whereabouts());
        match fault {
            Fault::Silent(time, why) => {
                let why = why.map_or(String::new(), |w| format!(" ({w})"));
                self.error(format!("{address} gave no answer for {:.1} s{why}; {last}", time.as_secs_f64()))
            }
            Fault::TooLong(time) => {
                self.error(format!("{address} has worked on one request for {:.1} s; {last}", time.as_secs_f64()))
            }
            Fault::Forgot => {
                self.forgot = true;
                self.error(format!("{address} was started anew and has lost its state; {last}"))
            }
            Fault::Refused(refusal) => self.refused(refusal),
            Fault::Final(why) => self.error(format!("{address}: {why}")),
        }
    }

    /// Goes on until the request is answered, or has no answer.
    fn drive(&mut self) -> Result<Reply, PartError> {
        loop {
            let now = self.link.now();
            match self.client.poll(now) {
                Next::Connect => match self.link.connect(self.client.patience().renew()) {
                    Ok(()) => self.client.connected(self.link.now()),
                    Err(down) => self.client.disconnected(self.link.now(), down.why, down.last),
                },
                Next::Send(request) => self.send(&request),
                Next::Wait(until) => match self.link.receive(until) {
                    Came::Reply(reply) => {
                        self.bytes[1] += FRAME + reply.encoded_len() as u64;
                        self.client.received(self.link.now(), reply);
                    }
                    Came::Down(down) => self.client.disconnected(self.link.now(), down.why, down.last),
                    Came::Nothing => {}
                },
                Next::Finished(reply) => return Ok(reply),
                Next::Failed(fault) => return Err(self.fault(fault)),
                Next::Idle => return Err(self.error("was asked for nothing")),
            }
        }
    }

    fn send(&mut self, request: &Request) {
        self.bytes[0] += FRAME + request.encoded_len() as u64;
        self.link.send(request);
    }

    /// Ends what was announced and never asked for: requests come in turn.
    fn settle(&mut self) -> Result<(), PartError> {
        if let Some(ask) = self.announced.take() {
            if let Ask::Attempt(attempt) = ask {
                self.iteration = attempt.iteration;
            }
            self.client.attend(self.link.now());
            self.answer()?;
        }
        Ok(())
    }

    fn ask(&mut self, what: Ask) -> Result<Tell, PartError> {
        if self.announced.take_if(|a| *a == what).is_some() {
            self.client.attend(self.link.now());
            return self.answer();
        }
        self.settle()?;
        if let Some(why) = &self.lost {
            return Err(why.clone());
        }
        self.client.ask(self.link.now(), self.commit, Some(what));
        self.answer()
    }

    fn answer(&mut self) -> Result<Tell, PartError> {
        let answer = self.drive();
        if self.lost.is_none() {
            self.commit = None;
        }
        answer?.what.ok_or_else(|| self.error("answered with an empty message"))
    }

    fn done(&mut self, what: Ask) -> Result<(), PartError> {
        match self.ask(what)? {
            Tell::Done(_) => Ok(()),
            _ => Err(self.error("answered something else than was asked")),
        }
    }

    fn motions(&mut self, tell: Tell) -> Result<Response, PartError> {
        let Tell::Motions(motions) = tell else { return Err(self.error("answered something else than its motion")) };
        motions.response(self.motions.len()).map_err(|r| self.refused(r))
    }

    fn message(&self, window: &Window, loads: &[f64], shifts: &[f64], admittance: bool) -> Attempt {
        Attempt {
            window: window.number,
            iteration: self.iteration + 1,
            from: window.from,
            to: window.to,
            loads: loads.to_vec(),
            shifts: if self.description.in_step { shifts.to_vec() } else { Vec::new() },
            admittance,
        }
    }

    fn begin_solver(&mut self) -> Result<(), PartError> {
        let Some(solver) = &self.solver else { return Ok(()) };
        let Tell::Started(started) = self.ask(Ask::Start(Start::from(solver)))? else {
            return Err(self.error("answered something else than its start"));
        };
        if started.channels.len() > MOST {
            return Err(self.refused(Refusal::of("its channels", format!("at most {MOST}"), started.channels.len())));
        }
        let channel = |c: &crate::wire::Channel| Channel { name: c.name.clone(), unit: unit(&c.unit) };
        self.channels = started.channels.iter().map(channel).collect();
        self.description.in_step = started.in_step;
        Ok(())
    }
}

/// Units of channels last as long as the program. Those of parts in other languages are few, and short.
fn unit(word: &str) -> &'static str {
    static SEEN: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut seen = crate::session::lock(&SEEN);
    match seen.iter().find(|u| **u == word) {
        Some(unit) => unit,
        None if seen.len() < 200 && word.len() < 20 => {
            seen.push(Box::leak(word.to_string().into_boxed_str()));
            seen[seen.len() - 1]
        }
        None => "",
    }
}

impl Remote for RemotePart {
    fn space(&self) -> Space {
        self.description.space
    }

    fn ports(&self) -> Vec<(String, Motion)> {
        self.motions.clone()
    }

    fn start(mut self: Box<Self>, how: &Solver) -> Result<Box<dyn Subdomain>, PartError> {
        self.solver = Some(how.clone());
        self.begin_solver()?;
        Ok(self)
    }
}

impl Subdomain for RemotePart {
    fn description(&self) -> &Description {
        &self.description
    }

    fn begin(&mut self, loads: &[f64]) -> Result<Response, PartError> {
        let tell = self.ask(Ask::Begin(Begin { loads: loads.to_vec() }))?;
        self.motions(tell)
    }

    fn announce(&mut self, next: &Upcoming) {
        if self.lost.is_some() || self.client.is_waiting() || !self.client.is_up() {
            return;
        }
        let what = match next {
            Upcoming::Begin(loads) => Ask::Begin(Begin { loads: loads.to_vec() }),
            Upcoming::Attempt(window, loads, shifts, y) => Ask::Attempt(self.message(window, loads, shifts, *y)),
            Upcoming::Observe if self.channels.is_empty() => return,
            Upcoming::Observe => Ask::Observe(Observe {}),
        };
        let now = self.link.now();
        self.client.ask(now, self.commit, Some(what.clone()));
        self.announced = Some(what);
        if let Next::Send(request) = self.client.poll(now) {
            self.send(&request);
        }
    }

    fn attempt(
        &mut self,
        window: &Window,
        loads: &[f64],
        shifts: &[f64],
        admittance: bool,
    ) -> Result<Response, PartError> {
        let attempt = self.message(window, loads, shifts, admittance);
        let stamp = Stamp { window: attempt.window, iteration: attempt.iteration };
        let tell = self.ask(Ask::Attempt(attempt));
        self.iteration = self.iteration.max(stamp.iteration);
        let response = tell.and_then(|tell| self.motions(tell))?;
        (self.tried, self.last) = (Some(stamp), Some((window.number, window.to)));
        Ok(response)
    }

    fn soften(&mut self) -> Result<(), PartError> {
        self.tried = None;
        if self.description.in_step { self.done(Ask::Soften(Soften {})) } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<(), PartError> {
        let stamp = self.tried.take().ok_or_else(|| self.error("has nothing to commit"))?;
        (self.commit, self.iteration) = (Some(stamp), 0);
        Ok(())
    }

    fn save(&mut self) -> Result<(), PartError> {
        self.done(Ask::Save(Save::default()))
    }

    fn restore(&mut self) -> Result<(), PartError> {
        (self.tried, self.iteration) = (None, 0);
        self.done(Ask::Restore(Restore::default()))
    }

    fn channels(&self) -> Vec<Channel> {
        self.channels.clone()
    }

    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        if self.channels.is_empty() {
            return Ok(());
        }
        let Tell::Values(values) = self.ask(Ask::Observe(Observe {}))? else {
            return Err(self.error("answered something else than the values of its channels"));
        };
        if values.values.len() != self.channels.len() {
            let (needed, found) = (self.channels.len(), values.values.len());
            return Err(self.refused(Refusal::of("wrong number of channels", needed, found)));
        }
        out.extend(values.values);
        Ok(())
    }

    fn keep(&mut self, _: &Path, id: &str) -> Result<(), PartError> {
        self.done(Ask::Save(Save { id: id.into() }))
    }

    fn recover(&mut self, _: &Path, id: &str) -> Result<(), PartError> {
        if self.settle().is_err() || self.lost.is_some() {
            self.client.renew(self.link.name_of_run(), self.link.now());
            (self.lost, self.forgot, self.announced, self.commit) = (None, false, None, None);
            self.begin_solver()?;
        }
        (self.commit, self.tried, self.iteration) = (None, None, 0);
        self.done(Ask::Restore(Restore { id: id.into() }))
    }

    fn forgot(&self) -> bool {
        self.forgot
    }

    fn traffic(&self) -> Option<Traffic> {
        let c = &self.client.counts;
        Some(Traffic {
            address: self.link.address(),
            round_trips: c.round_trips,
            repeated: c.repeated,
            links: c.links,
            bytes: self.bytes,
            working: c.nanoseconds as f64 * 1e-9,
        })
    }
}

impl Drop for RemotePart {
    /// Says good-bye, if there is still somebody to say it to.
    fn drop(&mut self) {
        if self.client.is_up() && !self.client.is_waiting() {
            self.client.ask(self.link.now(), self.commit, Some(Ask::Leave(Leave {})));
            if let Next::Send(request) = self.client.poll(self.link.now()) {
                self.send(&request);
                let _ = self.link.receive(self.link.now() + Duration::from_secs(1));
            }
        }
    }
}
