//! Seeing the result: a server for the viewer's page on the loopback interface, and reports that are one file.
//!
//! The page is built from `viewer/` and embedded, so neither node nor the internet is needed. The server
//! answers to this machine only, serves the page and the result folders it was given, and reads columns
//! of `results.parquet` when they are asked for: a gigabyte of results opens at once.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! // everything: find a port, print the address, open the browser, serve until the program ends
//! bellcrank_view::view(&["results".into()], &bellcrank_view::ServeOptions::default(), &mut std::io::stderr())?;
//! # Ok(()) }
//! ```
//!
//! | path | answer |
//! |---|---|
//! | `/` | the page |
//! | `/api/summary` | state of the run, its message, number of rows, generation, `summary.json` |
//! | `/api/scene` | `scene.json`, or `null` |
//! | `/api/channels` | names and units of all columns; the first is `time` |
//! | `/api/channels?as=bytes` | the same for a page with a million columns: a head, ends of names, units, names |
//! | `/api/columns?at=0,3-6&from=0&to=100` | rows of columns, one column after the other, little-endian `f64` |
//! | `/api/columns?at=3-6*2+10` | columns 3 to 6, and as many ten further on |
//! | `… &as=f32` | the same in single precision |
//! | `… &generation=2` | refused with 409 when the folder holds another run by now |
//! | `/api/column/3?from=0&to=100` | one column |
//! | `… &run=1` | the same of another run, where several are looked at; `runs` in the summary tells how many |
//! | `/api/live` | news of a run that goes on, as server-sent events ([`Live`]) |

mod broadcast;
mod colours;
mod crowd;
pub mod drawing;
mod http;
mod live;
mod open;
mod picture;
pub mod plot;
mod report;
mod server;
pub mod study;
mod truth;

pub use bellcrank_solve::evidence::Verdict;
pub use broadcast::LiveRecorder;
pub use live::Live;
pub use open::{tell, view};
pub use picture::picture;
pub use report::{Diagram, Fact, Report, ReportData, Section, report, report_of, section};
pub use server::{ServeOptions, Server, serve, serve_study, serve_together};
pub use truth::{ModelText, truth_report};

use flate2::read::ZlibDecoder;
use std::io::Read;
use std::sync::LazyLock;

/// The viewer's page: HTML with its style and script inside.
pub fn viewer_page() -> &'static str {
    static COMPRESSED: &[u8] = bellcrank_compressed::include_compressed!("src/page.html");
    static PAGE: LazyLock<String> = LazyLock::new(|| {
        let mut page = String::new();
        // these bytes were compressed when this was compiled
        ZlibDecoder::new(COMPRESSED).read_to_string(&mut page).expect("a page that was compressed can be read");
        page
    });
    &PAGE
}
