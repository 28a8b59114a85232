//! Checkpoints: all that a run remembers, so that another process goes on as if it had never stopped.
//!
//! [`Simulation::save`] begins the method anew; a checkpoint does not disturb the run at all, so that it may be taken at any
//! moment. The simulation that resumes is made as the first one was, and then takes over the memory of engine, observer,
//! monitors and sampler. An engine that was made on the way is made again at the point where it was born: trees, splits and
//! solvers that a start decides are the same then.

use super::Simulation;
use super::sampler::Sampler;
use crate::engines::StepError;
use crate::record::Recorder;
use bellcrank_math::tape::Tape;
use bellcrank_model::Point;

impl Simulation {
    /// Hands all that the run remembers to a recorder that wants it; `last` where the run is about to end early.
    pub(super) fn checkpoint(
        &mut self,
        last: bool,
        sampler: &mut Option<Sampler>,
        out: &mut dyn Recorder,
    ) -> Result<(), StepError> {
        if !out.wants_checkpoint(last) {
            return Ok(());
        }
        let mut tape = Tape::blank();
        self.keep(&mut tape, sampler)?;
        let kept = tape.finish();
        out.checkpoint(kept.as_deref().map_err(|why| *why)).map_err(|e| StepError::Record(e.to_string()))
    }

    /// Goes on from what another run of the same machine and options remembered, with the next [`Simulation::run`].
    pub fn resume(&mut self, remembered: Vec<u8>) -> Result<(), StepError> {
        let mut tape = Tape::of(remembered);
        let mut sampler = None;
        self.keep(&mut tape, &mut sampler)?;
        tape.finish().map_err(|why| StepError::Refused {
            t: self.engine.state().t,
            why: format!("the run cannot continue from its checkpoint: {why}"),
        })?;
        self.observed = false;
        self.resumed = Some(sampler);
        Ok(())
    }

    /// Tells a tape all that the run remembers, or takes it over.
    fn keep(&mut self, tape: &mut Tape, sampler: &mut Option<Sampler>) -> Result<(), StepError> {
        tape.plain(&mut self.born);
        let (mut method, mut solver) = (self.plan.method(), self.plan.solver());
        tape.plain(&mut method);
        tape.plain(&mut solver);
        if tape.reads()
            && let Some(born) = self.born.take()
        {
            self.plan.resume(method, solver);
            self.make_engine(&born)?;
        }
        tape.number(&mut self.options.until);
        self.plan.keep(tape);
        self.engine.keep(tape);
        self.observer.keep(tape);
        self.passing.keep(tape);
        self.timetable.keep(tape);
        self.monitors.keep(tape);
        self.left_out.keep(tape);
        self.patience.keep(tape);
        self.keep_guests(tape)?;
        tape.plain(&mut self.earlier);
        tape.plain(sampler);
        Ok(())
    }

    /// The engine of the plan at the point where it was born, on the equations that the modes hold there.
    fn make_engine(&mut self, born: &Point) -> Result<(), StepError> {
        born.store(&mut self.observer.state);
        self.observer.hold();
        self.monitors.companion.allow_all();
        self.rebuild(born)
    }
}
