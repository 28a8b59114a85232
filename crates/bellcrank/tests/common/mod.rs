//! Runs the built program on model files in folders of their own.
#![allow(dead_code)] // each test binary uses its part

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The top of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Model files of the repository: examples and reference problems.
pub fn models() -> Vec<PathBuf> {
    let list = |folder: &str| std::fs::read_dir(root().join(folder)).unwrap().map(|e| e.unwrap().path());
    let mut found: Vec<PathBuf> = list("examples").filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    found.extend(list("tests/problems").map(|p| p.join("model.toml")).filter(|p| p.exists()));
    found.sort();
    assert!(found.len() > 5);
    found
}

/// A folder that is removed with its owner, in which the program runs.
pub struct Scratch(PathBuf);

/// How a run of the program ended.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Scratch {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The names in a folder, sorted; none if there is no such folder.
    pub fn list(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(name)).into_iter().flatten();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bellcrank"));
        command.args(args).current_dir(&self.0);
        command
    }

    pub fn bellcrank(&self, args: &[&str]) -> Ended {
        Ended::from(self.command(args).output().unwrap())
    }

    /// What `run FILE --json OPTIONS` prints.
    pub fn json(&self, file: &str, options: &[&str]) -> Value {
        let args: Vec<&str> = ["run", file, "--json"].into_iter().chain(options.iter().copied()).collect();
        let ended = self.bellcrank(&args);
        assert_eq!(ended.code, 0, "{args:?}: {}", ended.stderr);
        let doubts = ended.stderr.lines().filter(|line| !line.starts_with("warning: the reactions are not unique"));
        assert_eq!(doubts.collect::<String>(), "", "{args:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// Runs a model text with `--out results`; gives the recorded table.
    pub fn record(&self, model: &str, options: &[&str]) -> Recorded {
        self.write("model.toml", model);
        let args: Vec<&str> =
            ["run", "model.toml", "--quiet", "--out", "results"].into_iter().chain(options.iter().copied()).collect();
        let ended = self.bellcrank(&args);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{args:?}");
        Recorded::parse(&String::from_utf8(self.read("results/results.csv")).unwrap())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl From<Output> for Ended {
    fn from(o: Output) -> Ended {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: o.status.code().unwrap_or(-1), stdout: text(o.stdout), stderr: text(o.stderr) }
    }
}

/// A recorded table; no name in it needs quotes.
pub struct Recorded {
    pub header: Vec<String>,
    pub rows: Vec<Vec<f64>>,
}

impl Recorded {
    pub fn parse(csv: &str) -> Recorded {
        let mut lines = csv.lines();
        let header = lines.next().unwrap().split(',').map(String::from).collect();
        let rows = lines.map(|l| l.split(',').map(|x| x.parse().unwrap()).collect()).collect();
        Recorded { header, rows }
    }

    /// A column by its name without the unit.
    pub fn column(&self, name: &str) -> Vec<f64> {
        let matches = |h: &String| h.split(" [").next() == Some(name);
        let k = self.header.iter().position(matches).unwrap_or_else(|| panic!("no {name} in {:?}", self.header));
        self.rows.iter().map(|r| r[k]).collect()
    }
}

/// A small generator of numbers [Marsaglia 2003, xorshift].
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}
