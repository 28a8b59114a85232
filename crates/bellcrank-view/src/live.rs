//! Serves a run while it goes on.

use crate::broadcast::{LiveRecorder, NEWS, Shared};
use crate::server::{DataOrigin, ServeOptions, Server, serve_origin};
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A page that is reloaded is back within this time.
const BACK: Duration = Duration::from_secs(3);

/// Serves a run while it goes on.
pub struct Live {
    server: Server,
    shared: Arc<Shared>,
}

impl Live {
    /// Serves a run that is about to begin, and what to draw of it.
    pub fn new(scene: &Value, options: &ServeOptions) -> io::Result<Live> {
        let shared = Arc::new(Shared::new(scene));
        let server = serve_origin(Arc::new(DataOrigin::Live(shared.clone())), options)?;
        Ok(Live { server, shared })
    }

    /// The recorder to watch the run with.
    pub fn recorder(&self) -> LiveRecorder {
        LiveRecorder::new(self.shared.clone())
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Whether a page is open.
    pub fn watched(&self) -> bool {
        self.shared.is_watched()
    }

    /// Waits until the last page is closed or `stop` says so; if `patient`, also waits for the first page to open.
    pub fn wait(&self, patient: bool, stop: impl Fn() -> bool) {
        let mut gone = Instant::now();
        while !stop() {
            let ever = self.shared.was_watched();
            if self.watched() || (patient && !ever) {
                gone = Instant::now();
            } else if gone.elapsed() > BACK {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.server.stop();
        // pages get the last event
        for _ in 0..10 {
            if !self.watched() {
                return;
            }
            std::thread::sleep(NEWS);
        }
    }
}
