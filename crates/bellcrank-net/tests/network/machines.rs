//! Machines to cut, and what is the same for all tests.

use bellcrank_glue::{
    Coordinator, Coupling, Cut, GlueError, GlueOptions, Levels, PartModel, Solver, Subdomain, Watch, cut,
};
use bellcrank_model::read::read_text;
use bellcrank_model::{Dynamics, System};
use bellcrank_net::{PartOffer, ServerLimits, Show, StateFolder};
use bellcrank_solve::start::assemble;
use std::path::PathBuf;
use std::sync::Arc;

pub const FOUR_BAR: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
crank = { rod = { from = [0, 0], to = [0.5, 0.8], mass = 2 } }
coupler = { rod = { from = [0.5, 0.8], to = [2.1, 1.2], mass = 3 } }
rocker = { rod = { from = [2.0, 0], to = [2.1, 1.2], mass = 2 } }
[joint]
a = { type = "revolute", between = ["ground", "crank"], at = [0, 0] }
b = { type = "revolute", between = ["crank", "coupler"], at = [0.5, 0.8] }
c = { type = "revolute", between = ["coupler", "rocker"], at = [2.1, 1.2] }
d = { type = "revolute", between = ["rocker", "ground"], at = [2, 0] }
[start]
a = { rate = 1.5 }
"#;

pub const DOUBLE_FOUR_BAR: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
one = { rod = { from = [0, 0], to = [0.3, 1.0], mass = 1 } }
two = { rod = { from = [1, 0], to = [1.3, 1.0], mass = 1 } }
three = { rod = { from = [2, 0], to = [2.3, 1.0], mass = 1 } }
left = { rod = { from = [0.3, 1.0], to = [1.3, 1.0], mass = 1 } }
right = { rod = { from = [1.3, 1.0], to = [2.3, 1.0], mass = 1 } }
[joint]
a = { type = "revolute", between = ["ground", "one"], at = [0, 0] }
b = { type = "revolute", between = ["ground", "two"], at = [1, 0] }
c = { type = "revolute", between = ["ground", "three"], at = [2, 0] }
d = { type = "revolute", between = ["one", "left"], at = [0.3, 1] }
e = { type = "revolute", between = ["left", "two"], at = [1.3, 1] }
f = { type = "revolute", between = ["two", "right"], at = [1.3, 1] }
g = { type = "revolute", between = ["right", "three"], at = [2.3, 1] }
[start]
a = { rate = 1.0 }
"#;

pub const SPATIAL: &str = r#"
model = { gravity = [0, 0, -9.81] }
[body]
arm = { rod = { from = [0, 0, 0], to = [1, 0, 0], mass = 2, radius = 0.05 } }
ball = { box = { size = [0.3, 0.2, 0.4], mass = 3 }, at = [1.2, 0.1, -0.3], angular_velocity = [1, 2, 3] }
[joint]
pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0, 0], axis = [0, 1, 0.3] }
socket = { type = "spherical", between = ["arm", "ball"], at = [1, 0, 0] }
"#;

/// A hundred rods in a row.
pub fn chain() -> String {
    let mut out = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    for k in 0..100 {
        let before = if k == 0 { "ground".to_string() } else { format!("r{}", k - 1) };
        out += &format!(
            "[body.r{k}]\nrod = {{ from = [{k}, 0], to = [{}, 0], mass = 1 }}\n\
             [joint.j{k}]\ntype = \"revolute\"\nbetween = [\"{before}\", \"r{k}\"]\nat = [{k}, 0]\n",
            k + 1
        );
    }
    out
}

pub fn system(text: &str) -> Arc<System> {
    Arc::new(read_text("model.toml", text, &[]).unwrap_or_else(|e| panic!("{e}")).model.compile())
}

pub fn part_models(system: &Arc<System>, at: &[&str]) -> Cut {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let (point, _) = assemble(&dynamics, &system.initial_state()).unwrap();
    cut(system, &point, at).unwrap()
}

pub fn solver(coupling: Coupling) -> Solver {
    Solver { coupling, rho: 0.8, method: Some("dopri5".into()), rtol: 1e-8, step: None }
}

pub fn options(coupling: Coupling, window: f64) -> GlueOptions {
    let tolerances = Levels::all(if coupling == Coupling::Windows { 1e-7 } else { 1e-10 });
    GlueOptions { coupling, window, tolerances, ..GlueOptions::default() }
}

/// Joins parts that `make` makes of part_models.
pub fn join(
    system: &Arc<System>,
    at: &[&str],
    options: GlueOptions,
    make: &mut dyn FnMut(usize, PartModel) -> Box<dyn Subdomain>,
) -> Coordinator {
    let cut = part_models(system, at);
    let parts = cut.parts.into_iter().enumerate().map(|(k, part_model)| make(k, part_model)).collect();
    Coordinator::new(parts, cut.interface, 0.0, options).unwrap_or_else(|e| panic!("{e}"))
}

/// All in one process.
pub fn here(system: &Arc<System>, at: &[&str], options: GlueOptions) -> Coordinator {
    join(system, at, options, &mut |_, part_model| part_model.start(&solver(options.coupling)).unwrap())
}

/// Time and values after every window, as bits.
#[derive(Default)]
pub struct Rows {
    pub rows: Vec<Vec<u64>>,
    pub taken_back: usize,
}

impl Watch for Rows {
    fn window(&mut self, run: &mut Coordinator) -> Result<(), GlueError> {
        let values = run.observe()?;
        self.rows.push(std::iter::once(run.time()).chain(values).map(f64::to_bits).collect());
        Ok(())
    }
    fn note(&mut self) -> Result<Vec<u64>, GlueError> {
        Ok(vec![self.rows.len() as u64])
    }
    fn kept(&mut self) -> Result<(), GlueError> {
        Ok(())
    }
    fn taken_back(&mut self, note: &[u64], _: &GlueError) -> Result<(), GlueError> {
        self.rows.truncate(note[0] as usize);
        self.taken_back += 1;
        Ok(())
    }
}

/// The rows of a run without checkpoints.
pub fn rows(run: &mut Coordinator, until: f64) -> Vec<Vec<u64>> {
    let mut rows = Rows::default();
    run.run(until, &mut |run| rows.window(run)).unwrap_or_else(|e| panic!("{e}"));
    rows.rows
}

/// An empty folder of this process: tests that run side by side would exchange each other's keys. Those that were left behind
/// are removed an hour later.
pub fn temporary(name: &str) -> PathBuf {
    let all = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("parts");
    for entry in std::fs::read_dir(&all).into_iter().flatten().flatten() {
        let age = entry.metadata().ok().and_then(|m| m.modified().ok()?.elapsed().ok());
        if age.is_some_and(|age| age.as_secs() > 3600) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let folder = all.join(std::process::id().to_string()).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub fn offer(part_model: PartModel) -> Arc<PartOffer> {
    let text = part_model.name.clone().into_bytes();
    Arc::new(PartOffer::new(part_model, &text, Show::All))
}

pub fn store(name: &str) -> Arc<StateFolder> {
    Arc::new(StateFolder::new(temporary(name), 100))
}

pub fn limits() -> ServerLimits {
    ServerLimits { rate: 1e6, ..ServerLimits::default() }
}

/// Numbers that look random, the same every time [Vigna 2015, splitmix64].
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Below one.
    pub fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.part() * n as f64) as usize
    }
    pub fn happens(&mut self, chance: f64) -> bool {
        self.part() < chance
    }
}
