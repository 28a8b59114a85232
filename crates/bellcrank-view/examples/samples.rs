//! Writes sample results: `cargo run --release -p bellcrank-view --example samples -- FOLDER [NAME]`, and
//! serves one: `… -- FOLDER NAME serve`.

#[path = "../tests/samples/mod.rs"]
mod samples;

use bellcrank_view::{Report, ServeOptions, view};
use samples::*;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: samples FOLDER [NAME [serve | report]]");
        std::process::exit(2);
    };
    let folder = Path::new(folder);
    let wanted = rest.first().map(String::as_str);
    let all: &[(&str, fn(&Path) -> std::io::Result<()>)] = &[
        ("four-bar", |d| write(d, FOUR_BAR, 4.0, 801, four_bar())),
        ("slider-crank", |d| write(d, SLIDER_CRANK, 5.0, 501, slider_crank)),
        ("double-pendulum", |d| write(d, DOUBLE_PENDULUM, 20.0, 4001, double_pendulum())),
        ("top", |d| write(d, TOP, 20.0, 2001, top)),
        ("cloud", |d| write(d, &cloud_model(1000), 20.0, 501, cloud(1000))),
        ("cloud-100000", |d| write(d, &cloud_model(100_000), 2.0, 21, cloud(100_000))),
        ("net", |d| write(d, &net_model(24), 12.0, 601, net(24))),
        ("odd", |d| write(d, &odd_model(), 3.0, 301, odd)),
        ("long", |d| write(d, FOUR_BAR, 4000.0, 5_000_001, four_bar())),
    ];
    for (name, make) in all.iter().filter(|(n, _)| wanted.map_or(!["cloud-100000", "long"].contains(n), |w| w == *n)) {
        let dir = folder.join(name);
        if !dir.exists() {
            make(&dir)?;
        }
        match rest.get(1).map(String::as_str) {
            Some("serve") => view(std::slice::from_ref(&dir), &ServeOptions::default(), &mut std::io::stderr())?,
            Some("report") => {
                std::fs::write(dir.join("report.html"), bellcrank_view::report(&dir, &Report::default())?)?
            }
            _ => {}
        }
    }
    Ok(())
}
