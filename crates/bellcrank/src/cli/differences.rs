//! `bellcrank compare A B`: how far two folders of results are apart.

use crate::cli::{Failure, print};
use bellcrank_model::file::diagnostic::escaped;
use bellcrank_results::{Columns, Difference, Differences, difference};
use serde_json::json;
use std::path::Path;

/// Tells the largest difference of every channel, the relatively largest first.
pub fn tell(first: &Path, second: &Path, as_json: bool) -> Result<(), Failure> {
    let models: Vec<&Path> = [first, second].into_iter().filter(|p| p.is_file()).collect();
    if let [model] = models[..] {
        let message = format!("{} is a file and the other a folder", model.display());
        let help = "compare two folders of results, or give one model file alone";
        return Err(Failure::BadInput(format!("{message}\nhelp: {help}")));
    }
    if models.len() == 2 {
        let help = "run both with --out, and compare the folders of their results";
        return Err(Failure::BadInput(format!("two model files cannot be compared\nhelp: {help}")));
    }
    let open = |path: &Path| Columns::open(path).map_err(|e| Failure::BadInput(e.to_string()));
    let (a, b) = (open(first)?, open(second)?);
    let names = [first.display().to_string(), second.display().to_string()];
    let failed = |e: std::io::Error| Failure::BadInput(format!("{} and {}: {e}", names[0], names[1]));
    let mut found = difference(&a, &b).map_err(failed)?;
    found.channels.sort_by(|a, b| b.relative().total_cmp(&a.relative()));
    if as_json {
        return print(&object(&names, &found).to_string());
    }
    print(&table(&names, &found))
}

fn object(names: &[String; 2], found: &Differences) -> serde_json::Value {
    let one = |d: &Difference| json!({ "channel": d.name, "unit": d.unit, "difference": d.largest, "t": d.t, "size": d.size });
    json!({
        "results": names,
        "from": found.span.0,
        "to": found.span.1,
        "same_times": found.same_times,
        "channels": found.channels.iter().map(one).collect::<Vec<_>>(),
        "only_first": found.only_first,
        "only_second": found.only_second,
    })
}

fn table(names: &[String; 2], found: &Differences) -> String {
    let mut lines = vec![format!("{} and {}, from {} to {} s:", names[0], names[1], found.span.0, found.span.1)];
    let width = found.channels.iter().map(|d| d.name.chars().count()).max().unwrap_or(0);
    for d in &found.channels {
        let of = match d.largest {
            0.0 => "the same".into(),
            _ if d.is_rounding() => "the same up to rounding".into(),
            _ => format!("{:.1e} of the largest", d.relative()),
        };
        lines.push(format!("  {:width$}  {:>10.3e} {:6} at {:.6} s, {of}", escaped(&d.name), d.largest, d.unit, d.t));
    }
    if !found.same_times {
        lines.push(
            "They were recorded at other times: the second is taken along cubics between its frames. Runs with the same --sample \
             are compared frame by frame."
                .into(),
        );
    }
    for (of, only) in names.iter().zip([&found.only_first, &found.only_second]) {
        if !only.is_empty() {
            lines.push(format!("Only in {of}: {}", escaped(&only.join(", "))));
        }
    }
    lines.join("\n")
}
