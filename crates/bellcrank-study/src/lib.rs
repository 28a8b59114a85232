//! Studies: many runs of one model with other values each time, as one tidy table.
//!
//! ```text
//! STUDY.toml ─file.rs→ Study ─space.rs→ points ─row.rs→ rows ─ledger.rs→ study.rows ─→ study.parquet
//! ```
//!
//! A study names a model, what is varied and how ([`Axis`]), and what is wanted of every run ([`Column`]). A point of its
//! [`Space`] is one set of values, and its key a digest of them. A row is what a run at a point gave; it depends on the point alone,
//! so that rows may be computed anywhere, in any order and twice ([`Study::compute`]). They are written down as they come
//! ([`Ledger`]), and become a table in the order of the points at the end: the same bytes for any number of workers, and after any
//! number of kills.
//!
//! ```
//! use bellcrank_study::{Jobs, Study, run};
//! let dir = std::env::temp_dir().join(format!("bellcrank-study-doc-{}", std::process::id()));
//! std::fs::create_dir_all(&dir).unwrap();
//! std::fs::write(dir.join("ball.toml"), "
//!     model.gravity = [0, 0, -9.81]
//!     parameter.v = 1.0
//!     body.ball = { mass = 1, velocity = [0, 0, 'v'] }
//! ").unwrap();
//! std::fs::write(dir.join("throw.toml"), "
//!     study.model = 'ball.toml'
//!     vary.v = [1, 2, 3]
//!     column.height = 'ball.z.max'
//! ").unwrap();
//! let study = Study::open(dir.join("throw.toml").to_str().unwrap()).unwrap();
//! let table = run(&study, &dir.join("out"), false, &mut Jobs::default()).unwrap().table().unwrap();
//! let height = table.values[table.place("height").unwrap()].numbers().unwrap();
//! assert!((height[2] - 9.0 / (2.0 * 9.81)).abs() < 1e-9); // v²/2g
//! # std::fs::remove_dir_all(dir).unwrap();
//! ```

mod axis;
mod chunk;
mod column;
mod digest;
mod distribution;
mod file;
mod ledger;
mod models;
pub mod reference;
mod row;
mod run;
mod sampling;
pub mod sensitivity;
mod space;
mod study;

pub use axis::{Axis, AxisValue, Target};
pub use bellcrank_results::tidy::TABLE;
pub use chunk::{packed, unpacked};
pub use column::{Column, Measure};
pub use distribution::{Distribution, normal_quantile};
pub use file::{STUDY, VARY};
pub use ledger::{Ledger, LedgerError, StudyOutcome, is_study};
pub use models::{Models, of_text};
pub use row::{Row, Status};
pub use run::{Jobs, StudyError, StudyProgress, run};
pub use sampling::{Sampling, sobol};
pub use space::{MOST_POINTS, Point, Space};
pub use study::Study;
