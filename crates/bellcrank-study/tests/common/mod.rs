//! Machines whose sensitivities are compared with differences of tight runs: in the test some of them, in the bench all.
#![allow(dead_code)]

pub mod machines;

use bellcrank_model::file::Report;
use bellcrank_model::read::Template;
use bellcrank_solve::choices::{Options, Said};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Status, Summary};
use bellcrank_solve::{Simulation, begin};
use bellcrank_study::sensitivity::{Answer, Mode, Question, QuestionError, RTOL, answer};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// A machine, what is asked of it, and how it is run.
#[derive(Clone, Copy)]
pub struct Machine {
    /// An example, or the text of a model.
    pub model: &'static str,
    pub of: &'static [&'static str],
    pub to: &'static [&'static str],
    pub until: f64,
    /// Other choices of the run, as `key=value`.
    pub solve: &'static [&'static str],
    /// Values that are set.
    pub set: &'static [&'static str],
    /// The step of differences, relative to the parameter.
    pub step: f64,
}

pub const fn machine(
    model: &'static str,
    of: &'static [&'static str],
    to: &'static [&'static str],
    until: f64,
) -> Machine {
    Machine { model, of, to, until, solve: &[], set: &[], step: 1e-3 }
}

impl Machine {
    pub const fn solved(self, solve: &'static [&'static str]) -> Machine {
        Machine { solve, ..self }
    }

    /// The same with another step of differences: that of a quick motion must be small.
    pub const fn differenced(self, step: f64) -> Machine {
        Machine { step, ..self }
    }

    pub fn template(&self) -> Result<Template, Report> {
        if self.model.contains('\n') {
            return Template::parse("model.toml", self.model);
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        Template::open(&folder.join(self.model).display().to_string())
    }

    fn said(&self) -> Vec<Said> {
        let mut said = vec![Said::argument("until", self.until)];
        for text in self.solve {
            let (key, value) = text.split_once('=').expect("a key and a value");
            said.push(match value.parse::<f64>() {
                Ok(number) => Said::argument(key, number),
                Err(_) => Said::argument(key, value),
            });
        }
        said
    }

    fn set(&self) -> Vec<String> {
        self.set.iter().map(|s| s.to_string()).collect()
    }

    /// A name for tables: that of the file, or a line of the text.
    pub fn name(&self) -> &'static str {
        let first = self.model.lines().find(|l| !l.is_empty()).unwrap_or("");
        if self.model.contains('\n') { self.model.lines().nth(2).unwrap_or(first) } else { first }
    }

    /// The run alone, with the tolerance that derivatives would have.
    pub fn plain(&self) -> Summary {
        let read = self.template().and_then(|t| t.read(&self.set())).unwrap_or_else(|e| panic!("{e}"));
        let mut options = Options::from_arguments(&read.settings, &self.said()).expect("options");
        if !self.solve.iter().any(|s| s.starts_with("rtol")) {
            options.rtol = options.rtol.min(RTOL);
        }
        options.resources.threads = Some(1);
        let mut run = begin::simulation(read.model.into_system(), options).unwrap_or_else(|e| panic!("{e}"));
        run.run(&mut Silent)
    }

    pub fn answer(&self) -> Result<Answer, QuestionError> {
        self.answer_by(Mode::Forward, self.to)
    }

    /// Derivatives by some parameters, carried one way or the other.
    pub fn answer_by(&self, mode: Mode, to: &[impl AsRef<str>]) -> Result<Answer, QuestionError> {
        let of = self.of.iter().map(|s| s.to_string()).collect();
        let to = to.iter().map(|s| s.as_ref().to_string()).collect();
        let question = Question { of, to, over_time: false, mode, words: ["--of ", "--to "] };
        answer(&self.template()?, &self.set(), &question, &self.said(), &Arc::default())
    }

    /// The largest difference between both ways, relative to the largest derivative by its parameter or of its output; with its place.
    pub fn both_ways(&self) -> (f64, String) {
        let [forward, adjoint] = [Mode::Forward, Mode::Adjoint]
            .map(|mode| self.answer_by(mode, self.to).unwrap_or_else(|e| panic!("{}: {e}", self.model)));
        let mut worst = (0.0, String::new());
        for (c, (a, b)) in forward.measured.iter().zip(&adjoint.measured).enumerate() {
            for (k, (x, y)) in a.derivatives.iter().zip(&b.derivatives).enumerate() {
                let error = (x - y).abs() / x.abs().max(1e-12);
                if error.is_nan() || error > worst.0 {
                    let names = (&forward.columns[c].text, &forward.parameters[k].name);
                    worst = (error, format!("d {}/d {} = {x} forward, {y} backward", names.0, names.1));
                }
            }
        }
        worst
    }

    /// The measures of a run with a value of a parameter, to the last digits that runs have.
    fn tight(&self, found: &Answer, parameter: usize, value: f64) -> Vec<f64> {
        let path = &found.parameters[parameter].path;
        let mut set = self.set();
        set.push(format!("{path}={value:?}"));
        let read = self.template().and_then(|t| t.read(&set)).unwrap_or_else(|e| panic!("{e}"));
        let mut options = Options::from_arguments(&read.settings, &self.said()).expect("options");
        options.rtol = 1e-13;
        if options.step.is_none() {
            // means are those of cubics over the steps
            let means = self.of.iter().any(|of| of.ends_with(".mean") || of.ends_with(".rms"));
            options.testing.max_step = Some(self.until / if means { 4000.0 } else { 200.0 });
        }
        let mut model = read.model;
        for column in &found.columns {
            model.outputs.extend(column.made());
        }
        let mut run: Simulation = begin::simulation(model.into_system(), options).unwrap_or_else(|e| panic!("{e}"));
        let summary = run.run(&mut Silent);
        assert_eq!(summary.status, Status::Finished);
        found.columns.iter().map(|c| c.value(&summary).expect("a measure")).collect()
    }

    /// The largest difference to differences of tight runs, relative to the derivative, with its place.
    pub fn compare(&self, mode: Mode) -> (f64, String) {
        let found = self.answer_by(mode, self.to).unwrap_or_else(|e| panic!("{}: {e}", self.model));
        let mut worst = (0.0, String::new());
        for (k, p) in found.parameters.iter().enumerate() {
            let size = if p.value == 0.0 { 1.0 } else { p.value.abs() };
            let central = |h: f64| -> Vec<f64> {
                let [a, b] = [p.value - h, p.value + h].map(|x| self.tight(&found, k, x));
                a.iter().zip(b).map(|(a, b)| (b - a) / (2.0 * h)).collect()
            };
            // two steps, so that what is of their square drops out
            let (wide, narrow) = (central(2.0 * self.step * size), central(self.step * size));
            for (c, m) in found.measured.iter().enumerate() {
                let reference = (4.0 * narrow[c] - wide[c]) / 3.0;
                let error = (m.derivatives[k] - reference).abs() / reference.abs().max(1e-12);
                if error.is_nan() || error > worst.0 {
                    let what = &found.columns[c].text;
                    worst = (error, format!("d {what}/d {} = {} against {reference}", p.name, m.derivatives[k]));
                }
            }
        }
        worst
    }
}

/// A chain of masses on springs with a stiffness, a damping and a mass of its own for each.
pub fn chain(links: usize) -> String {
    let mut text = String::from("model = { plane = \"xy\" }\n[parameter]\n");
    for k in 0..links {
        let _ = writeln!(text, "k{k} = {}\nc{k} = 0.2\nm{k} = {}", 40.0 + k as f64 % 7.0, 1.0 + 0.1 * (k % 3) as f64);
    }
    for k in 0..links {
        let _ = writeln!(text, "[body.b{k}]\nmass = \"m{k}\"\nat = [{k}, 0]\nvelocity = [{}, 0]", (k % 5) as f64 * 0.1);
        let before = if k == 0 { "ground".into() } else { format!("b{}", k - 1) };
        let _ = writeln!(
            text,
            "[force.f{k}]\ntype = \"spring-damper\"\nbetween = [\"{before}\", \"b{k}\"]\nat = [[{}, 0], [{k}, 0]]\n\
             stiffness = \"k{k}\"\ndamping = \"c{k}\"\nlength = 0.9",
            k as f64 - 1.0,
        );
    }
    text
}
