//! The recorders of a run: its folder, and others that see the frames of a run which is resumed again.

use bellcrank_results::Folder;
use bellcrank_solve::events::Event;
use bellcrank_solve::history::AcceptedStep;
use bellcrank_solve::record::{Ended, Header, Recorder, RunReport, Tee};
use std::io;

/// A folder, if there is one, and other recorders. Frames that the folder has from before go to the others first.
pub struct Together<'a> {
    pub folder: Option<&'a mut Folder>,
    pub others: Tee<'a>,
}

impl Together<'_> {
    fn each(&mut self, mut action: impl FnMut(&mut dyn Recorder) -> io::Result<()>) -> io::Result<()> {
        let first = self.folder.as_mut().map_or(Ok(()), |folder| action(*folder));
        first.and(action(&mut self.others))
    }
}

impl Recorder for Together<'_> {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        let Some(folder) = &mut self.folder else { return self.others.begin(header) };
        folder.begin(header)?;
        let others = &mut self.others;
        let begun = others.begin(header).and_then(|()| folder.replay(&mut |t, values| others.frame(t, values)));
        if let Err(e) = &begun {
            // a run that did not begin is never ended
            let _ = folder.end(&Ended::Failed(e.to_string()));
        }
        begun
    }

    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        self.each(|r| r.frame(t, values))
    }

    fn step(&mut self, taken: &AcceptedStep) {
        let _ = self.each(|r| {
            r.step(taken);
            Ok(())
        });
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.each(|r| r.event(event))
    }

    fn wants_checkpoint(&mut self, last: bool) -> bool {
        self.folder.as_mut().is_some_and(|folder| folder.wants_checkpoint(last))
    }

    fn checkpoint(&mut self, remembered: Result<&[u8], &'static str>) -> io::Result<()> {
        self.folder.as_mut().map_or(Ok(()), |folder| folder.checkpoint(remembered))
    }

    fn end(&mut self, report: &dyn RunReport) -> io::Result<()> {
        self.each(|r| r.end(report))
    }

    fn wants_frames(&self) -> bool {
        self.folder.is_some() || self.others.wants_frames()
    }

    fn is_silent(&self) -> bool {
        self.folder.is_none() && self.others.is_silent()
    }
}
