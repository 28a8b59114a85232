//! States of a glued run: kept in memory, and in a folder.

use super::Coordinator;
use super::history::History;
use crate::options::{GlueError, GlueReport};
use crate::subdomain::write_whole;
use bellcrank_model::{Point, snapshot};
use std::path::Path;

/// The file of the interface in a checkpoint.
pub const INTERFACE_FILE: &str = "interface.state";

/// What that file holds, in messages.
const KIND: &str = "state of an interface";

/// The interface's file: the state of the run, without the states of its parts.
#[derive(serde::Serialize, serde::Deserialize)]
struct Written {
    id: String,
    history: History,
    interface: Point,
    report: GlueReport,
    note: Vec<u64>,
}

impl Coordinator {
    /// Keeps the committed state of all parts and of the interface in memory.
    pub fn save(&mut self) -> Result<(), GlueError> {
        self.parts.iter_mut().try_for_each(|p| p.save())?;
        self.saved = Some(Box::new(self.history.clone()));
        self.interface.save();
        Ok(())
    }

    /// Goes back to the saved state; the same windows give the same bits from there on.
    pub fn restore(&mut self) -> Result<(), GlueError> {
        let Some(saved) = &self.saved else { return Err(GlueError::Unfit("no state was saved".into())) };
        self.history = History::clone(saved);
        self.interface.restore();
        self.parts.iter_mut().try_for_each(|p| p.restore())?;
        Ok(())
    }

    /// Writes a checkpoint: each part keeps its committed state where it lives, and the interface goes into a folder, with a
    /// note of the caller's.
    pub fn keep(&mut self, folder: &Path, id: &str, note: &[u64]) -> Result<(), GlueError> {
        self.parts.iter_mut().try_for_each(|p| p.keep(folder, id))?;
        let (history, interface) = (self.history.clone(), self.interface.point().clone());
        let (id, note) = (id.to_string(), note.to_vec());
        let written = Written { id, history, interface, report: self.report.clone(), note };
        let path = folder.join(INTERFACE_FILE);
        write_whole(&path, &snapshot::encode(KIND, &written))
            .map_err(|e| GlueError::Unfit(format!("cannot write the checkpoint `{}`: {e}", path.display())))
    }

    /// Takes all parts and the interface back to the checkpoint in a folder: the same windows give the same bits from there
    /// on. Returns the note.
    pub fn recover(&mut self, folder: &Path) -> Result<Vec<u64>, GlueError> {
        let path = folder.join(INTERFACE_FILE);
        let unfit = |why: String| GlueError::Unfit(format!("the checkpoint `{}` {why}", path.display()));
        let bytes = std::fs::read(&path).map_err(|e| unfit(format!("cannot be read: {e}")))?;
        let found: Written = snapshot::decode(KIND, &bytes).map_err(|e| unfit(e.to_string()))?;
        let same = self.history.fits(&found.history, self.interface.width()) && self.interface.fits(&found.interface);
        if !same || found.report.seconds.len() != self.parts.len() {
            return Err(unfit("belongs to another assembly".into()));
        }
        self.parts.iter_mut().try_for_each(|p| p.recover(folder, &found.id))?;
        self.interface.set_point(found.interface);
        self.history = found.history;
        self.report = found.report;
        Ok(found.note)
    }
}
