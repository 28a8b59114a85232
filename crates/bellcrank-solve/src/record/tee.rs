//! Several recorders at once.

use super::{Ended, Header, Recorder, RunReport};
use crate::events::Event;
use crate::history::AcceptedStep;
use std::io;

/// Passes everything on to each recorder.
///
/// A failure of one does not keep the frame or the end from the others; the first failure is returned.
pub struct Tee<'a>(pub Vec<&'a mut dyn Recorder>);

impl Tee<'_> {
    fn each(&mut self, mut action: impl FnMut(&mut dyn Recorder) -> io::Result<()>) -> io::Result<()> {
        let mut result = Ok(());
        for r in &mut self.0 {
            result = result.and(action(*r));
        }
        result
    }
}

impl Recorder for Tee<'_> {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        for i in 0..self.0.len() {
            if let Err(e) = self.0[i].begin(header) {
                // a run that did not begin is never ended, so the recorders already begun are told here
                let failed = Ended::Failed(e.to_string());
                self.0[..i].iter_mut().for_each(|r| drop(r.end(&failed)));
                return Err(e);
            }
        }
        Ok(())
    }

    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        self.each(|r| if r.wants_frames() { r.frame(t, values) } else { Ok(()) })
    }

    fn step(&mut self, taken: &AcceptedStep) {
        self.0.iter_mut().for_each(|r| r.step(taken));
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.each(|r| r.event(event))
    }

    fn wants_checkpoint(&mut self, last: bool) -> bool {
        self.0.iter_mut().any(|r| r.wants_checkpoint(last))
    }

    fn checkpoint(&mut self, remembered: Result<&[u8], &'static str>) -> io::Result<()> {
        self.each(|r| r.checkpoint(remembered))
    }

    fn end(&mut self, report: &dyn RunReport) -> io::Result<()> {
        self.each(|r| r.end(report))
    }

    fn wants_frames(&self) -> bool {
        self.0.iter().any(|r| r.wants_frames())
    }
    fn is_silent(&self) -> bool {
        self.0.iter().all(|r| r.is_silent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Memory;
    use crate::record::testing::header;

    /// Fails at the given call; counts frames.
    struct Bad(&'static str, usize);
    impl Recorder for Bad {
        fn begin(&mut self, _: &Header) -> io::Result<()> {
            if self.0 == "begin" { Err(io::Error::other("begin")) } else { Ok(()) }
        }
        fn frame(&mut self, _: f64, _: &[f64]) -> io::Result<()> {
            self.1 += 1;
            if self.0 == "frame" { Err(io::Error::other("frame")) } else { Ok(()) }
        }
        fn end(&mut self, _: &dyn RunReport) -> io::Result<()> {
            if self.0 == "end" { Err(io::Error::other("end")) } else { Ok(()) }
        }
        fn wants_frames(&self) -> bool {
            self.0 != "lazy"
        }
    }

    #[test]
    fn one_failure_is_told_and_the_others_go_on() {
        for call in ["begin", "frame", "end"] {
            let (mut a, mut bad, mut b) = (Memory::default(), Bad(call, 0), Memory::default());
            let mut tee = Tee(vec![&mut a, &mut bad, &mut b]);
            let told: Vec<String> = [
                tee.begin(&header(&["x"])),
                if call == "begin" { Ok(()) } else { tee.frame(0.0, &[1.0]) },
                if call == "begin" { Ok(()) } else { tee.end(&Ended::Finished) },
            ]
            .into_iter()
            .filter_map(|r| r.err().map(|e| e.to_string()))
            .collect();
            assert_eq!(told, [call]);
            let ended = if call == "begin" { Ended::Failed("begin".into()) } else { Ended::Finished };
            assert_eq!(a.ended, Some(ended));
            assert_eq!(b.times.len(), if call == "begin" { 0 } else { 1 });
        }
    }

    #[test]
    fn frames_go_only_to_those_who_want_them() {
        let (mut lazy, mut m) = (Bad("lazy", 0), Memory::default());
        assert!(!Tee(vec![&mut lazy]).wants_frames() && !Tee(vec![]).wants_frames());
        let mut tee = Tee(vec![&mut lazy, &mut m]);
        assert!(tee.wants_frames());
        tee.begin(&header(&["x"])).unwrap();
        tee.frame(0.0, &[1.0]).unwrap();
        assert_eq!((lazy.1, m.times.len()), (0, 1));
    }
}
