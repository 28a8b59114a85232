//! Reference problems through the public interface: `tests/problems/NAME/` holds a model and a table of
//! options, times, channels, values and tolerances.

mod common;

use common::{Scratch, is_readable, root};
use serde_json::Value;
use std::path::Path;

struct Row {
    options: String,
    t: String,
    channel: String,
    value: f64,
    tolerance: f64,
}

fn table(folder: &Path) -> Vec<Row> {
    let path = folder.join("reference.csv");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("options,t,channel,value,tolerance"), "{}", path.display());
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [options, t, channel, value, tolerance] = cells[..] else { panic!("{}: {line}", path.display()) };
        let number = |x: &str| x.trim().parse().unwrap_or_else(|_| panic!("{}: {line}", path.display()));
        let (value, tolerance) = (number(value), number(tolerance));
        Row { options: options.into(), t: t.into(), channel: channel.into(), value, tolerance }
    };
    lines.map(row).collect()
}

/// The turn between two rotations given by unit quaternions, which are the same up to their sign:
/// 2 |q − (q·p) p| in the limit of small turns.
fn turn(q: [f64; 4], p: [f64; 4]) -> f64 {
    let dot: f64 = q.iter().zip(&p).map(|(a, b)| a * b).sum();
    let sine: f64 = q.iter().zip(&p).map(|(a, b)| (a - dot * b).powi(2)).sum();
    2.0 * sine.sqrt().atan2(dot.abs())
}

/// What is wrong with the values of a run, for rows of the same options and time.
fn compare(what: &str, values: &Value, rows: &[Row], problems: &mut Vec<String>) {
    const PARTS: [&str; 4] = ["qw", "qx", "qy", "qz"];
    let value = |channel: &str| values[channel].as_f64();
    for row in rows {
        let (name, part) = row.channel.rsplit_once('.').unwrap_or(("", &row.channel));
        let error = if PARTS.contains(&part) {
            let channels = PARTS.map(|p| format!("{name}.{p}"));
            let reference = channels.clone().map(|c| rows.iter().find(|r| r.channel == c).map(|r| r.value));
            let found = channels.map(|c| value(&c));
            // [Option; 4] → Option<[_; 4]>
            match (all(found), all(reference)) {
                (Some(q), Some(p)) => turn(q, p),
                _ => f64::NAN,
            }
        } else {
            value(&row.channel).map_or(f64::NAN, |x| (x - row.value).abs())
        };
        if error.is_nan() || error > row.tolerance {
            let found = &values[&row.channel];
            problems.push(format!(
                "{what}: {} is {found}, not {}: off by {error:.2e}, allowed {:.0e}",
                row.channel, row.value, row.tolerance
            ));
        }
    }
}

fn all(list: [Option<f64>; 4]) -> Option<[f64; 4]> {
    let [Some(a), Some(b), Some(c), Some(d)] = list else { return None };
    Some([a, b, c, d])
}

#[test]
fn every_problem_meets_its_reference() {
    let mut folders: Vec<_> =
        std::fs::read_dir(root().join("tests/problems")).unwrap().map(|e| e.unwrap().path()).collect();
    folders.sort();
    let (mut problems, mut runs) = (Vec::new(), 0);
    for folder in folders.iter().filter(|f| is_readable(&f.join("model.toml"))) {
        let name = folder.file_name().unwrap().to_string_lossy();
        assert!(folder.join("README.md").exists(), "{name} says nothing of its source");
        let rows = table(folder);
        assert!(!rows.is_empty(), "{name} has no reference");
        let scratch = Scratch::new(&format!("problem-{name}"));
        let model = folder.join("model.toml");
        for rows in rows.chunk_by(|a, b| (&a.options, &a.t) == (&b.options, &b.t)) {
            let Row { options, t, .. } = &rows[0];
            let mut args = vec!["--until", t];
            args.extend(options.split_whitespace());
            let summary = scratch.json(&model.to_string_lossy(), &args);
            assert_eq!(summary["final"]["t"].as_f64(), t.parse().ok());
            compare(&format!("{name} {options} at {t} s"), &summary["final"], rows, &mut problems);
            runs += 1;
        }
    }
    assert!(runs >= 12, "{runs}");
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn quaternions_are_compared_up_to_their_sign() {
    let (c, s) = (0.6f64, 0.8f64);
    assert!(turn([c, s, 0.0, 0.0], [-c, -s, 0.0, 0.0]) < 1e-15);
    let small = 1e-9f64;
    let turned = [(small / 2.0).cos(), 0.0, (small / 2.0).sin(), 0.0];
    assert!((turn(turned, [1.0, 0.0, 0.0, 0.0]) - small).abs() < 1e-16);
}
