//! Results on disk, written and read: folders, Parquet and CSV tables, and JSON reports.
//!
//! The solver hands frames to a [`Recorder`](bellcrank_solve::record::Recorder) and never opens a file. [`Folder`] is the
//! recorder behind `bellcrank run --out`; [`Results`] watches such a folder, also while it is being written, and
//! [`Columns`] reads its channels by name. [`json`] turns the solver's reports into JSON.
//!
//! ```
//! use bellcrank_model::read::read_text;
//! use bellcrank_results::{Columns, Folder};
//! use bellcrank_solve::{Options, Simulation};
//! use std::sync::Arc;
//!
//! let text = r#"
//!     model = { plane = "xy", gravity = [0, -9.81] }
//!     body.bob = { mass = 1, inertia = 0.1, at = [1, 0] }
//!     joint.pin = { type = "revolute", between = ["ground", "bob"], at = [0, 0] }
//! "#;
//! let system = Arc::new(read_text("pendulum.toml", text, &[]).unwrap().model.into_system());
//! let options = Options { until: 0.5, sample: Some(0.1), ..Options::default() };
//! let dir = std::env::temp_dir().join(format!("bellcrank-doc-{}", std::process::id()));
//! Simulation::new(system, options).unwrap().run(&mut Folder::new(&dir));
//!
//! let columns = Columns::open(&dir).unwrap();
//! assert_eq!(columns.names[0], "time");
//! let y = columns.names.iter().position(|name| name == "bob.y").unwrap();
//! assert_eq!(columns.read(&[y]).unwrap()[0].len(), 6);
//! # std::fs::remove_dir_all(dir).unwrap();
//! ```

mod aside;
mod checkpoint;
mod columns;
pub mod csv;
mod difference;
pub mod folder;
mod journal;
pub mod json;
pub mod names;
pub mod npy;
mod parquet;
mod results;
mod summary;
mod table;
pub mod tidy;

pub use self::checkpoint::{About, FILE};
pub use self::columns::Columns;
pub use self::csv::Csv;
pub use self::difference::{Difference, Differences, difference};
pub use self::folder::Folder;
pub use self::results::{Results, Snapshot, State};
pub use self::table::Table;

/// The program and its version, as written into every result.
pub const PROGRAM: &str = concat!("bellcrank ", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod testing {
    use bellcrank_solve::record::{Channel, Header};
    use std::path::{Path, PathBuf};

    /// A header with these channel names, all in metres.
    pub fn header<S: AsRef<str>>(names: &[S]) -> Header {
        let channels = names.iter().map(|n| Channel { name: n.as_ref().into(), unit: "m" }).collect();
        Header { model: "test".into(), channels }
    }

    /// Names that break careless writers.
    pub const ODD_NAMES: [&str; 9] =
        ["crank.x", "a,b", "say \"x\"", "two\nlines", "=1+1", "", "räder.φ", "\u{202e}rtl", "<script>"];

    /// Values that break careless printing.
    pub const ODD_VALUES: [f64; 9] =
        [0.1, -0.0, 5e-324, f64::MAX, f64::INFINITY, f64::NAN, 1.0 / 3.0, 1e16, -2.2250738585072014e-308];

    /// An empty folder that is removed with its owner.
    pub struct Scratch(PathBuf);

    impl Scratch {
        pub fn new(name: &str) -> Scratch {
            let dir = std::env::temp_dir().join(format!("bellcrank-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }
        pub fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
