//! Other programs on the same model files: Python packages in an environment of their own.

use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program: its name, the Python module, the package on PyPI, and our script for it.
struct Program {
    name: &'static str,
    module: &'static str,
    package: &'static str,
    script: &'static str,
}

const PROGRAMS: [Program; 3] = [
    Program {
        name: "Exudyn",
        module: "exudyn",
        package: "exudyn",
        script: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/exudyn_peer.py")),
    },
    Program {
        name: "MuJoCo",
        module: "mujoco",
        package: "mujoco",
        script: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/mujoco_peer.py")),
    },
    Program {
        name: "Pinocchio",
        module: "pinocchio",
        package: "pin",
        script: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/pinocchio_peer.py")),
    },
];

/// What all scripts read models with.
const MACHINE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/machine.py"));

/// No answer of a peer takes longer.
const ANSWER_WITHIN: Duration = Duration::from_secs(300);

/// The programs that are there, with their versions, and the Python that has them.
pub struct Peers {
    python: PathBuf,
    folder: PathBuf,
    found: Vec<(&'static Program, String)>,
}

/// What a peer answered.
pub struct Answer {
    /// Seconds of the processor.
    pub seconds: f64,
    /// The values that were watched.
    pub values: Vec<f64>,
}

impl Peers {
    /// Those of an environment in `folder`, or else of the Python at hand; with `install` the environment is made first.
    pub fn find(folder: &Path, install: bool) -> io::Result<Peers> {
        let environment = folder.join("environment");
        let own = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        if install {
            fs::create_dir_all(folder)?;
            if !own.exists() {
                run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
            }
            let packages = PROGRAMS.iter().map(|p| p.package);
            run(Command::new(&own)
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(packages))?;
        }
        let python = if own.exists() { own } else { PathBuf::from("python3") };
        let mut found = Vec::new();
        for program in &PROGRAMS {
            let code = format!("import {0}; print({0}.__version__)", program.module);
            let output = Command::new(&python).args(["-W", "ignore", "-c", &code]).output();
            if let Ok(output) = output
                && output.status.success()
            {
                let text = String::from_utf8_lossy(&output.stdout);
                found.push((program, text.lines().last().unwrap_or("").trim().to_string()));
            }
        }
        let folder = folder.join("scripts");
        if !found.is_empty() {
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("machine.py"), MACHINE)?;
            for (program, _) in &found {
                fs::write(folder.join(format!("{}_peer.py", program.module)), program.script)?;
            }
        }
        Ok(Peers { python, folder, found })
    }

    /// Names and versions.
    pub fn words(&self) -> Vec<String> {
        self.found.iter().map(|(p, version)| format!("{} {version}", p.name)).collect()
    }

    /// Whether a program is there.
    pub fn has(&self, name: &str) -> bool {
        self.found.iter().any(|(p, _)| p.name == name)
    }

    /// Lets a program solve a problem; the reason if it does not.
    pub fn ask(&self, name: &str, problem: &Value) -> Result<Answer, String> {
        let Some((program, _)) = self.found.iter().find(|(p, _)| p.name == name) else {
            return Err("not installed".into());
        };
        let failed = |e: io::Error| e.to_string();
        let answers = self.folder.join(format!("{}.out", program.module));
        let mut child = Command::new(&self.python)
            .current_dir(&self.folder)
            .arg(format!("{}_peer.py", program.module))
            .stdin(Stdio::piped())
            .stdout(fs::File::create(&answers).map_err(failed)?)
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        // a peer that dies early closes the pipe: its answer, or the lack of one, tells
        let _ = child.stdin.take().map(|mut stdin| writeln!(stdin, "{problem}"));
        let started = Instant::now();
        let status = loop {
            match child.try_wait().map_err(failed)? {
                Some(status) => break status,
                None if started.elapsed() > ANSWER_WITHIN => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("no answer after {} s", ANSWER_WITHIN.as_secs()));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let text = fs::read_to_string(&answers).map_err(failed)?;
        let Some(answer) = text.lines().rev().find_map(|l| l.strip_prefix('@')) else {
            return Err(format!("ended without an answer ({status})"));
        };
        let answer: Value = serde_json::from_str(answer).map_err(|e| e.to_string())?;
        if let Some(error) = answer["error"].as_str() {
            return Err(error.to_string());
        }
        let values = answer["values"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        Ok(Answer { seconds: answer["seconds"].as_f64().unwrap_or(f64::NAN), values })
    }
}

/// A problem as the scripts read it.
pub fn problem(kind: &str, model: &str, watch: &[String], until: f64, steps: usize, times: usize) -> Value {
    json!({ "kind": kind, "model": model, "watch": watch, "until": until, "steps": steps, "times": times })
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_string())),
    }
}
