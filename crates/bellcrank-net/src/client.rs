//! The coordinator's side of a run, without a network: what to send, when to repeat it, when to give up.
//!
//! Its driver asks [`Client::poll`] what to do at the present time, and reports what happened. One request is under way at a
//! time; it is repeated until it is answered, which is safe because a part works on each request once.

use crate::wire::{Hello, PROTOCOL, Refusal, Reply, ReplyKind, Request, RequestKind, Stamp, UNITS, Welcome, hex};
use std::time::Duration;

/// The name of a run. It is a secret: whoever knows it may continue the run.
pub type RunId = [u8; 16];

/// Time limits.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// A part that is silent for longer is lost.
    pub silence: Duration,
    /// Limit of one request, even while the part reports that it is working.
    pub call: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { silence: Duration::from_secs(10), call: Duration::from_secs(600) }
    }
}

impl Timeouts {
    /// A request without an answer is repeated after this time.
    fn again(&self) -> Duration {
        self.silence / 16
    }

    /// A link that is silent for longer is replaced.
    pub fn renew(&self) -> Duration {
        self.silence / 2
    }
}

/// The pause before the second attempt to connect; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum CallFault {
    /// Silence of this length, and the last error of the link.
    Silent(Duration, Option<String>),
    /// The part has been working on the request for too long.
    TooLong(Duration),
    /// The part answers, but has lost its state.
    Forgot,
    /// The part refuses.
    Refused(Refusal),
    /// Trying again is pointless.
    Final(String),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Connect anew; the old link is dropped.
    Connect,
    /// Send a message.
    Send(Request),
    /// Wait for a message, up to a deadline.
    Wait(Duration),
    /// The request was answered.
    Finished(Reply),
    /// The request was given up.
    Failed(CallFault),
    /// Nothing.
    Idle,
}

/// Counts of a run.
#[derive(Clone, Debug, Default)]
pub struct CallCounts {
    /// Requests that were answered.
    pub round_trips: u64,
    /// Requests that were repeated.
    pub repeated: u64,
    /// Links that were made.
    pub links: u64,
    /// Nanoseconds the part worked.
    pub nanoseconds: u64,
}

enum LinkState {
    Down { not_before: Duration },
    Greeting { sent: Option<Duration> },
    Up,
}

struct Pending {
    /// None for the handshake alone.
    request: Option<Request>,
    asked: Duration,
    heard: Duration,
    sent: Option<Duration>,
    answer: Option<Result<Reply, CallFault>>,
}

/// One run of one part, seen from the coordinator.
pub struct Client {
    run: RunId,
    timeouts: Timeouts,
    link: LinkState,
    /// When the link was made, or last heard of.
    alive: Duration,
    pause: Duration,
    why_down: Option<String>,
    next: u64,
    pending: Option<Pending>,
    welcome: Option<Welcome>,
    started: bool,
    /// Counts so far.
    pub counts: CallCounts,
}

impl Client {
    /// A run that has not begun.
    pub fn new(run: RunId, timeouts: Timeouts) -> Client {
        Client {
            run,
            timeouts,
            link: LinkState::Down { not_before: Duration::ZERO },
            alive: Duration::ZERO,
            pause: FIRST_PAUSE,
            why_down: None,
            next: 1,
            pending: None,
            welcome: None,
            started: false,
            counts: CallCounts::default(),
        }
    }

    /// Begins anew under another name, so that nothing of the old run can be mistaken for the new one.
    pub fn renew(&mut self, run: RunId, now: Duration) {
        (self.run, self.next, self.started, self.pending) = (run, 1, false, None);
        self.link = LinkState::Down { not_before: now };
    }

    /// The description the part gave in the handshake.
    pub fn welcome(&self) -> Option<&Welcome> {
        self.welcome.as_ref()
    }

    /// Whether a request is under way.
    pub fn is_waiting(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether the link is up.
    pub fn is_up(&self) -> bool {
        matches!(self.link, LinkState::Up)
    }

    /// The time limits.
    pub fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    fn pend(&mut self, now: Duration, request: Option<Request>) {
        self.pending = Some(Pending { request, asked: now, heard: now, sent: None, answer: None });
    }

    /// Asks for the handshake alone.
    pub fn greet(&mut self, now: Duration) {
        self.pend(now, None);
    }

    /// Makes a request; the one before must have been answered.
    pub fn ask(&mut self, now: Duration, commit: Option<Stamp>, what: Option<RequestKind>) {
        self.pend(now, Some(Request { sequence: self.next, commit, what }));
    }

    /// Starts to wait for the answer now: the time in which nobody listened does not count as silence.
    pub fn attend(&mut self, now: Duration) {
        if let Some(p) = &mut self.pending {
            (p.asked, p.heard) = (now, now);
        }
    }

    /// What to do at the present time.
    pub fn poll(&mut self, now: Duration) -> Action {
        let Timeouts { silence, call } = self.timeouts;
        let Some(p) = &mut self.pending else { return Action::Idle };
        let deadline = (p.heard + silence).min(p.asked + call);
        let fault = match p.answer.take() {
            Some(Ok(reply)) => {
                self.pending = None;
                return Action::Finished(reply);
            }
            Some(Err(fault)) => Some(fault),
            None if now >= p.heard + silence => Some(CallFault::Silent(now - p.heard, self.why_down.clone())),
            None if now >= p.asked + call => Some(CallFault::TooLong(now - p.asked)),
            None => None,
        };
        if let Some(fault) = fault {
            self.pending = None;
            return Action::Failed(fault);
        }
        if !matches!(self.link, LinkState::Down { .. }) && now >= self.alive.max(p.asked) + self.timeouts.renew() {
            self.link = LinkState::Down { not_before: now };
        }
        let again = self.timeouts.again();
        match &mut self.link {
            LinkState::Down { not_before } if now >= *not_before => Action::Connect,
            LinkState::Down { not_before } => Action::Wait(deadline.min(*not_before)),
            LinkState::Greeting { sent: Some(at) } if now < *at + again => Action::Wait(deadline.min(*at + again)),
            LinkState::Greeting { sent } => {
                *sent = Some(now);
                let model = self.welcome.as_ref().map(|w| w.model.clone()).unwrap_or_default();
                let (run, units) = (self.run.to_vec(), UNITS.to_string());
                let hello = Hello { protocol: PROTOCOL, run, next: self.next, units, model };
                Action::Send(Request { what: Some(RequestKind::Hello(hello)), ..Request::default() })
            }
            LinkState::Up => match (&p.request, p.sent) {
                (Some(_), Some(at)) if now < at + again => Action::Wait(deadline.min(at + again)),
                (Some(request), sent) => {
                    self.counts.repeated += sent.is_some() as u64;
                    p.sent = Some(now);
                    Action::Send(request.clone())
                }
                (None, _) => {
                    self.pending = None;
                    Action::Finished(Reply::default())
                }
            },
        }
    }

    /// A link was made.
    pub fn connected(&mut self, now: Duration) {
        (self.link, self.alive) = (LinkState::Greeting { sent: None }, now);
        self.counts.links += 1;
        if let Some(p) = &mut self.pending {
            // on a new link it has to be sent once more, which does not count as a repetition
            p.sent = None;
        }
    }

    /// The link is gone or could not be made; `last` if trying again is pointless.
    pub fn disconnected(&mut self, now: Duration, why: String, last: bool) {
        self.link = LinkState::Down { not_before: now + self.pause };
        self.pause = (2 * self.pause).min(self.timeouts.silence / 8).max(FIRST_PAUSE);
        match &mut self.pending {
            Some(p) if last && p.answer.is_none() => p.answer = Some(Err(CallFault::Final(why))),
            _ => self.why_down = Some(why),
        }
    }

    /// A message arrived. Late and repeated ones are ignored.
    pub fn received(&mut self, now: Duration, reply: Reply) {
        self.alive = now;
        let Some(p) = self.pending.as_mut().filter(|p| p.answer.is_none()) else { return };
        let greeting = matches!(self.link, LinkState::Greeting { .. });
        match (reply.what, &p.request) {
            (Some(ReplyKind::Welcome(welcome)), _) if greeting => {
                p.heard = now;
                match differs(&welcome, self.welcome.as_ref()) {
                    Some(refusal) => p.answer = Some(Err(CallFault::Refused(refusal))),
                    None if self.started && !welcome.started => {
                        self.started = false;
                        p.answer = Some(Err(CallFault::Forgot));
                    }
                    None => {
                        (self.link, self.pause, self.why_down) = (LinkState::Up, FIRST_PAUSE, None);
                        self.welcome.get_or_insert(welcome);
                    }
                }
            }
            (Some(ReplyKind::Refusal(refusal)), _) if greeting && reply.sequence == 0 => {
                p.answer = Some(Err(CallFault::Refused(refusal)));
            }
            (Some(what), Some(request)) if reply.sequence == request.sequence && !greeting => {
                p.heard = now;
                self.counts.nanoseconds += reply.nanoseconds;
                let answer = match what {
                    ReplyKind::Working(_) | ReplyKind::Welcome(_) => return,
                    ReplyKind::Refusal(refusal) => Err(CallFault::Refused(refusal)),
                    what => {
                        self.started |= matches!(what, ReplyKind::Started(_));
                        Ok(Reply { what: Some(what), ..reply })
                    }
                };
                p.answer = Some(answer);
                self.next += 1;
                self.counts.round_trips += 1;
            }
            _ => {}
        }
    }
}

/// What is wrong with a welcome, by itself or compared to an earlier one.
fn differs(new: &Welcome, old: Option<&Welcome>) -> Option<Refusal> {
    if new.protocol != PROTOCOL {
        return Some(Refusal::of("version of the protocol", PROTOCOL, new.protocol));
    }
    if new.units != UNITS {
        return Some(Refusal::of("units of the part", UNITS, format!("{:?}", new.units)));
    }
    let old = old?;
    if new.model != old.model {
        return Some(Refusal::of("its model has changed", hex(&old.model), hex(&new.model)));
    }
    let names = |w: &Welcome| w.ports.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
    (names(new) != names(old)).then(|| Refusal::of("its ports have changed", names(old), names(new)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Done, Observe, Working};

    const S: Duration = Duration::from_secs(1);

    fn client() -> Client {
        Client::new([7; 16], Timeouts { silence: 8 * S, call: 100 * S })
    }

    fn welcome(started: bool) -> Reply {
        let w = Welcome { protocol: PROTOCOL, units: UNITS.into(), started, ..Welcome::default() };
        Reply { what: Some(ReplyKind::Welcome(w)), ..Reply::default() }
    }

    /// Goes on until the first request is under way.
    fn asked(c: &mut Client, now: Duration) -> Request {
        c.ask(now, None, Some(RequestKind::Observe(Observe {})));
        assert_eq!(c.poll(now), Action::Connect);
        c.connected(now);
        assert!(matches!(c.poll(now), Action::Send(Request { what: Some(RequestKind::Hello(_)), .. })));
        c.received(now, welcome(false));
        let Action::Send(request) = c.poll(now) else { panic!() };
        request
    }

    fn done(sequence: u64) -> Reply {
        Reply { sequence, what: Some(ReplyKind::Done(Done {})), ..Reply::default() }
    }

    #[test]
    fn a_request_is_repeated_until_it_is_answered_once() {
        let mut c = client();
        let request = asked(&mut c, S);
        assert_eq!(c.poll(S), Action::Wait(S + c.timeouts.again()));
        assert_eq!(c.poll(3 * S), Action::Send(request.clone()));
        c.received(4 * S, done(request.sequence));
        c.received(4 * S, done(request.sequence));
        assert_eq!(c.poll(4 * S), Action::Finished(done(1)));
        assert_eq!(c.poll(4 * S), Action::Idle);
        // a late reply is ignored
        c.ask(5 * S, None, None);
        c.received(5 * S, done(1));
        assert!(matches!(c.poll(5 * S), Action::Send(Request { sequence: 2, .. })));
        assert_eq!((c.counts.round_trips, c.counts.repeated), (1, 1));
    }

    #[test]
    fn silence_is_named_after_the_timeout_and_work_is_waited_for() {
        let mut c = client();
        let request = asked(&mut c, S);
        let working = Reply { sequence: 1, what: Some(ReplyKind::Working(Working {})), ..Reply::default() };
        for k in 1..20 {
            c.received(k * 2 * S, working.clone());
            assert!(!matches!(c.poll(k * 2 * S), Action::Failed(_)));
        }
        // now it is silent: the link is replaced after half the time, and at the end the part is lost
        assert_eq!(c.poll(42 * S), Action::Connect);
        c.disconnected(42 * S, "refused".into(), false);
        assert!(matches!(c.poll(42 * S), Action::Wait(_)));
        assert_eq!(c.poll(46 * S), Action::Failed(CallFault::Silent(8 * S, Some("refused".into()))));
        let _ = request;
        let mut c = client();
        asked(&mut c, S);
        for k in 1..50 {
            c.received(k * 2 * S, working.clone());
            c.poll(k * 2 * S);
        }
        assert_eq!(c.poll(101 * S), Action::Failed(CallFault::TooLong(100 * S)));
    }

    #[test]
    fn a_part_that_was_restarted_has_lost_its_state() {
        let mut c = client();
        asked(&mut c, S);
        let started = ReplyKind::Started(Default::default());
        c.received(S, Reply { sequence: 1, what: Some(started), ..Reply::default() });
        assert!(matches!(c.poll(S), Action::Finished(_)));
        c.disconnected(S, "gone".into(), false);
        c.ask(2 * S, None, None);
        assert_eq!(c.poll(2 * S), Action::Connect);
        c.connected(2 * S);
        c.poll(2 * S);
        c.received(2 * S, welcome(false));
        assert_eq!(c.poll(2 * S), Action::Failed(CallFault::Forgot));
    }

    #[test]
    fn other_versions_units_and_models_are_refused_with_both_values() {
        let with = |change: fn(&mut Welcome)| {
            let mut c = client();
            c.greet(S);
            c.poll(S);
            c.connected(S);
            c.poll(S);
            let Some(ReplyKind::Welcome(mut w)) = welcome(false).what else { panic!() };
            change(&mut w);
            c.received(S, Reply { what: Some(ReplyKind::Welcome(w)), ..Reply::default() });
            c.poll(S)
        };
        assert!(matches!(with(|_| ()), Action::Finished(_)));
        let Action::Failed(CallFault::Refused(r)) = with(|w| w.protocol = 9) else { panic!() };
        assert_eq!((r.expected.as_str(), r.found.as_str()), ("1", "9"));
        let Action::Failed(CallFault::Refused(r)) = with(|w| w.units = "inch".into()) else { panic!() };
        assert_eq!((r.expected.as_str(), r.found.as_str()), ("SI", "\"inch\""));
    }
}
