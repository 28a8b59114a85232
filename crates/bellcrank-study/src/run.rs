//! All rows of a study on the threads of this machine.

use crate::ledger::{Ledger, LedgerError, StudyOutcome};
use crate::row::Row;
use crate::study::Study;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// Rows that may wait to be written down.
const WAITING: usize = 256;

/// How far a study is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StudyProgress {
    /// Rows there are.
    pub done: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// All rows.
    pub rows: u64,
}

/// Who works on a study, and who is told.
pub struct Jobs<'a> {
    /// Number of threads; 0 for one on each core.
    pub threads: usize,
    /// Set from outside to end it: rows that are there stay.
    pub interrupt: Arc<AtomicBool>,
    /// Told after every row; it may say that the study is to end.
    pub progress: Box<dyn FnMut(StudyProgress) -> bool + 'a>,
}

impl Default for Jobs<'_> {
    fn default() -> Self {
        Jobs { threads: 0, interrupt: Arc::default(), progress: Box::new(|_| true) }
    }
}

/// Why a study has no table.
#[derive(Debug)]
pub enum StudyError {
    /// Its rows cannot be written or read.
    Ledger(LedgerError),
    /// It was interrupted; rows that are there stay.
    Interrupted(StudyProgress),
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StudyError::Ledger(e) => write!(f, "{e}"),
            StudyError::Interrupted(at) => write!(f, "interrupted after {} of {} rows", at.done, at.rows),
        }
    }
}

impl std::error::Error for StudyError {}

impl<E: Into<LedgerError>> From<E> for StudyError {
    fn from(e: E) -> StudyError {
        StudyError::Ledger(e.into())
    }
}

/// Runs a study into a folder. With `resume`, rows that are there are not computed again.
pub fn run(study: &Study, dir: &Path, resume: bool, jobs: &mut Jobs) -> Result<StudyOutcome, StudyError> {
    let mut ledger = Ledger::open(study, dir, resume)?;
    let wanted: Vec<u64> = (0..study.rows()).filter(|i| !ledger.has(*i)).collect();
    let (next, interrupt) = (AtomicU64::new(0), jobs.interrupt.clone());
    let cores = || thread::available_parallelism().map_or(1, |n| n.get());
    let threads = if jobs.threads == 0 { cores() } else { jobs.threads }.min(wanted.len()).max(1);
    let progress = |ledger: &Ledger<&Study>| {
        let (done, failed) = ledger.done();
        StudyProgress { done, failed, rows: study.rows() }
    };
    let (told, computed) = (&mut jobs.progress, wanted.len() as u64);
    told(progress(&ledger));
    thread::scope(|scope| -> Result<(), StudyError> {
        let (send, rows) = mpsc::sync_channel::<(u64, Row)>(WAITING);
        for _ in 0..threads {
            let (send, wanted, next, interrupt) = (send.clone(), &wanted, &next, &interrupt);
            let kept = study.keep.then_some(dir);
            scope.spawn(move || work(study, wanted, next, kept, interrupt, &send));
        }
        drop(send);
        for (index, row) in rows {
            let written = ledger.push(index, &row);
            if written.is_err() || !told(progress(&ledger)) {
                interrupt.store(true, Ordering::Relaxed);
            }
            written?;
        }
        Ok(())
    })?;
    let at = progress(&ledger);
    if at.done < at.rows {
        return Err(StudyError::Interrupted(at));
    }
    Ok(ledger.finish(computed)?)
}

/// Computes rows until there are none left, or nobody wants them.
fn work(
    study: &Study,
    wanted: &[u64],
    next: &AtomicU64,
    dir: Option<&Path>,
    interrupt: &Arc<AtomicBool>,
    send: &mpsc::SyncSender<(u64, Row)>,
) {
    while !interrupt.load(Ordering::Relaxed) {
        let Some(&index) = wanted.get(next.fetch_add(1, Ordering::Relaxed) as usize) else { return };
        let point = study.space.point(index);
        let kept = dir.map(|dir| dir.join(study.folder(point.key)));
        let Some(row) = study.compute(&point, kept.as_deref(), interrupt) else { return };
        if send.send((index, row)).is_err() {
            return;
        }
    }
}
