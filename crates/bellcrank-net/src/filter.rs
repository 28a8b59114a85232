//! Every request is worked on once, however often it arrives.

use crate::wire::{Refusal, Reply, ReplyKind, Request, Working};

/// Admits each request once; repetitions get the reply of the first.
#[derive(Default)]
pub struct OnceFilter {
    /// The sequence of the last admitted request.
    last: u64,
    busy: bool,
    reply: Option<Reply>,
}

impl OnceFilter {
    /// A filter that expects `next` as the first request, from 1.
    pub fn expecting(next: u64) -> OnceFilter {
        OnceFilter { last: next.saturating_sub(1), ..OnceFilter::default() }
    }

    /// Decides about a request.
    pub fn admit(&mut self, request: &Request) -> RequestVerdict {
        let sequence = request.sequence;
        let say = |what| RequestVerdict::Say(Reply { sequence, nanoseconds: 0, what: Some(what) });
        match (&self.reply, sequence == self.last) {
            (_, true) if self.busy => say(ReplyKind::Working(Working {})),
            (Some(reply), true) => RequestVerdict::Say(reply.clone()),
            _ if self.last.checked_add(1) == Some(sequence) && !self.busy => {
                (self.last, self.busy, self.reply) = (sequence, true, None);
                RequestVerdict::Work
            }
            _ => {
                let expected = self.last.saturating_add(!self.busy as u64);
                say(ReplyKind::Refusal(Refusal::of("sequence of a request that is out of turn", expected, sequence)))
            }
        }
    }

    /// Whether no request is being worked on.
    pub fn is_idle(&self) -> bool {
        !self.busy
    }

    /// Takes back the request that was admitted: the work on it was stopped, and it is worked on when it comes again.
    pub fn reopen(&mut self) {
        (self.last, self.busy, self.reply) = (self.last.saturating_sub(1), false, None);
    }

    /// Stores the reply to the request that was admitted.
    pub fn finish(&mut self, reply: Reply) {
        self.busy = false;
        self.reply = Some(reply);
    }
}

/// What to do with a request.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestVerdict {
    /// It is new: work on it, and call [`OnceFilter::finish`].
    Work,
    /// It gets this reply.
    Say(Reply),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Done;

    #[test]
    fn every_request_is_admitted_once() {
        let mut filter = OnceFilter::default();
        let request = |sequence| Request { sequence, ..Request::default() };
        let done = |sequence| Reply { sequence, nanoseconds: 1, what: Some(ReplyKind::Done(Done {})) };
        assert_eq!(filter.admit(&request(1)), RequestVerdict::Work);
        // again while it is being worked on, and the next one too early
        assert!(matches!(
            filter.admit(&request(1)),
            RequestVerdict::Say(Reply { what: Some(ReplyKind::Working(_)), .. })
        ));
        assert!(matches!(
            filter.admit(&request(2)),
            RequestVerdict::Say(Reply { what: Some(ReplyKind::Refusal(_)), .. })
        ));
        filter.finish(done(1));
        assert_eq!(filter.admit(&request(1)), RequestVerdict::Say(done(1)));
        assert_eq!(filter.admit(&request(2)), RequestVerdict::Work);
        filter.finish(done(2));
        let RequestVerdict::Say(Reply { what: Some(ReplyKind::Refusal(old)), .. }) = filter.admit(&request(1)) else {
            panic!()
        };
        assert_eq!((old.expected.as_str(), old.found.as_str()), ("3", "1"));
        let RequestVerdict::Say(Reply { what: Some(ReplyKind::Refusal(gap)), .. }) = filter.admit(&request(7)) else {
            panic!()
        };
        assert_eq!((gap.expected.as_str(), gap.found.as_str()), ("3", "7"));
    }

    #[test]
    fn a_request_whose_work_was_stopped_is_admitted_again() {
        let mut filter = OnceFilter::expecting(5);
        let request = |sequence| Request { sequence, ..Request::default() };
        assert_eq!(filter.admit(&request(5)), RequestVerdict::Work);
        filter.reopen();
        assert!(matches!(filter.admit(&request(6)), RequestVerdict::Say(_)));
        assert_eq!(filter.admit(&request(5)), RequestVerdict::Work);
    }

    #[test]
    fn the_last_possible_sequence_is_admitted_and_nothing_follows() {
        let mut filter = OnceFilter::expecting(u64::MAX);
        assert_eq!(filter.admit(&Request { sequence: u64::MAX, ..Request::default() }), RequestVerdict::Work);
        filter.finish(Reply::default());
        assert!(matches!(filter.admit(&Request::default()), RequestVerdict::Say(_)));
    }
}
