//! Assembly files: parts by their model files, and the joints and forces between their ports.
//!
//! An assembly is a model file whose bodies are ports, `part/probe`, and which names its parts:
//!
//! ```toml
//! [part.chassis]
//! model = "chassis.toml"
//! [part.wheel]
//! model = "wheel.toml"
//! method = "dopri5"                  # a solver of its own
//! [part.engine]
//! address = "https://engine.example:7070"     # somewhere else: `bellcrank serve engine.toml`
//! [part.seat]
//! fmu = "seat.fmu"                   # of another tool
//!
//! [joint.hub]
//! type = "revolute"
//! between = ["chassis/hub", "wheel/centre"]
//! ```

use crate::cut::{PartModel, Solver};
use crate::fmu_part::{FmuEntry, FmuFile, FmuPart};
use crate::fmu_port::Said;
use crate::interface::{Interface, Site, port_body};
use crate::options::Coupling;
use crate::port::PortMotion;
use crate::subdomain::{PartError, Subdomain};
use bellcrank_model::file::{Report, bounded, suggest};
use bellcrank_model::fmu::wire::Setting;
use bellcrank_model::model::{End, Model, Space};
use bellcrank_model::read::{Read, read_model, read_text};
use bellcrank_model::settings::Settings;
use bellcrank_model::{Dynamics, State};
use bellcrank_solve::choices::{Voice, in_file, understood};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A part of an assembly.
pub struct Part {
    /// Its name.
    pub name: String,
    /// Plane or space.
    pub space: Space,
    /// Its ports, and where they are at the start.
    pub ports: Vec<(String, PortMotion)>,
    /// Where it comes from.
    pub source: PartSource,
    /// The method it has of its own, with its tolerance and step.
    pub method: Option<String>,
    /// Relative tolerance of its method.
    pub rtol: Option<f64>,
    /// Fixed step of its method.
    pub step: Option<f64>,
}

/// Where a part comes from.
pub enum PartSource {
    /// A model with its ports, the probes of the model, and its own assembled start.
    Here(Box<PartModel>),
    /// A remote part.
    There(Box<dyn Remote>),
    /// An FMU of another tool.
    Fmu(Box<FmuFile>),
}

/// A remote part: it describes its ports first, and gets its solver once the coupling is known.
pub trait Remote {
    /// Plane or space.
    fn space(&self) -> Space;
    /// Its ports, and where they are at the start.
    fn ports(&self) -> Vec<(String, PortMotion)>;
    /// The part with a solver.
    fn start(self: Box<Self>, how: &Solver) -> Result<Box<dyn Subdomain>, PartError>;
}

/// The entry of a remote part in an assembly file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RemoteEntry {
    /// The name of the part in the assembly.
    pub part: String,
    /// Its address, such as `https://engine.example:7070`.
    pub url: String,
    /// The folder of keys.
    pub tls: Option<PathBuf>,
    /// The file of the token.
    pub token_file: Option<PathBuf>,
}

/// Connects to a remote part.
pub type Connect<'a> = &'a mut dyn FnMut(&RemoteEntry) -> Result<Box<dyn Remote>, String>;

impl Part {
    /// The part with a solver.
    pub fn start(self, how: &Solver) -> Result<Box<dyn Subdomain>, PartError> {
        match self.source {
            PartSource::Here(part) => part.start(how),
            PartSource::There(remote) => remote.start(how),
            PartSource::Fmu(file) => Ok(Box::new(FmuPart::new(*file, how.rtol)?)),
        }
    }

    /// The coupling that it needs, if it cannot step with the others.
    pub fn needs(&self) -> Option<Coupling> {
        match &self.source {
            PartSource::Fmu(file) if !file.goes_back() => Some(Coupling::Explicit),
            PartSource::Fmu(_) => Some(Coupling::Windows),
            _ => self.method.as_deref().filter(|m| *m != "gen-alpha").map(|_| Coupling::Windows),
        }
    }
}

/// An assembly that was read.
pub struct Assembly {
    /// Its name.
    pub name: String,
    /// Its parts.
    pub parts: Vec<Part>,
    /// What joins them.
    pub interface: Interface,
    /// The `[solve]` section.
    pub settings: Settings,
    /// What was read: the assembly and the models of its parts here, by name, with their texts.
    pub texts: Vec<(String, String)>,
}

/// The keys of a part.
const KEYS: &[&str] = &[
    "model",
    "address",
    "fmu",
    "tls",
    "token_file",
    "method",
    "rtol",
    "step",
    "units",
    "port",
    "set",
    "patience",
    "memory",
];

/// Keys that only FMUs have.
const KEYS_OF_FMUS: &[&str] = &["port", "set", "patience", "memory"];

/// Reads an assembly file and the models of its parts, none of them remote; the message lists all that is wrong with it.
pub fn read_assembly(path: &str) -> Result<Assembly, String> {
    let nowhere =
        |a: &RemoteEntry| Err(format!("part `{}` is remote ({}), and this run has no network", a.part, a.url));
    read_assembly_with(path, &mut { nowhere })
}

/// The names of the parts of an assembly file, with the files of their models; none where a part has an address.
pub fn parts_of(path: &Path) -> Result<Vec<(String, Option<PathBuf>)>, String> {
    let name = path.display().to_string();
    let text = bounded::read_text(path, bounded::LARGEST).map_err(|e| format!("cannot read `{name}`: {e}"))?;
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(e) => return Err(read_text(&name, &text, &[]).err().map_or(e.to_string(), |report| report.to_string())),
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let parts = table.get("part").and_then(|parts| parts.as_table()).into_iter().flatten();
    let model = |entry: &toml::Value| entry.get("model").and_then(|m| m.as_str()).map(|file| folder.join(file));
    Ok(parts.map(|(name, entry)| (name.clone(), model(entry))).collect())
}

/// Reads an assembly file and the models of its parts, and connects to the remote ones.
pub fn read_assembly_with(path: &str, connect: Connect) -> Result<Assembly, String> {
    read_assembly_at(path, &[], connect)
}

/// The same with parts, by their names, at addresses in the place of where the file has them.
pub fn read_assembly_at(path: &str, elsewhere: &[(String, String)], connect: Connect) -> Result<Assembly, String> {
    let text =
        bounded::read_text(Path::new(path), bounded::LARGEST).map_err(|e| format!("cannot read `{path}`: {e}"))?;
    let mut table: toml::Table = match text.parse() {
        Ok(table) => table,
        // the reader of models explains syntax errors better
        Err(e) => return Err(read_text(path, &text, &[]).err().map_or(e.to_string(), |report| report.to_string())),
    };
    let here = |needle: &str| {
        let line = text.lines().position(|l| l.contains(needle)).map_or(String::new(), |k| format!(":{}", k + 1));
        format!("\n --> {path}{line}")
    };
    move_parts(&mut table, elsewhere)?;
    let Some(parts) = table.get("part").and_then(|p| p.as_table()).filter(|p| !p.is_empty()) else {
        return Err(format!(
            "`{path}` names no parts\nhelp: write [part.NAME] with model = \"file.toml\" for each part"
        ));
    };
    let folder = Path::new(path).parent().unwrap_or(Path::new("."));
    let mut read = Vec::new();
    let mut texts = vec![("the assembly".to_string(), without_addresses(&table))];
    for (name, entry) in parts {
        let (part, text) = read_part(name, entry, folder, connect)
            .map_err(|why| format!("{why}{}", here(&format!("[part.{name}"))))?;
        texts.extend(text.map(|text| (format!("part `{name}`"), text)));
        read.push(part);
    }
    let space = read[0].space;
    if let Some(other) = read.iter().find(|p| p.space != space) {
        let words = |s: Space| if s == Space::Plane { "in the plane" } else { "in space" };
        return Err(format!(
            "part `{}` is {}, part `{}` {}: they cannot be joined{}\nhelp: give both models `plane = \"xy\"`, or neither",
            read[0].name,
            words(space),
            other.name,
            words(other.space),
            here(&format!("[part.{}", other.name)),
        ));
    }
    let (between, sites) = read_interface(path, &text, &table, &read, space)?;
    check_ports(&between.model, &read, &sites)?;
    let name = between.model.name.clone();
    let settings = between.settings;
    Ok(Assembly { name, interface: Interface::new(between.model, sites), parts: read, settings, texts })
}

/// Gives parts other addresses.
fn move_parts(table: &mut toml::Table, elsewhere: &[(String, String)]) -> Result<(), String> {
    for (name, url) in elsewhere {
        let mut parts = table.get_mut("part").and_then(|parts| parts.as_table_mut());
        let Some(entry) = parts.as_mut().and_then(|parts| parts.get_mut(name)).and_then(|e| e.as_table_mut()) else {
            let known = parts.iter().flat_map(|parts| parts.keys()).map(String::as_str);
            return Err(format!("there is no part `{name}` to be at {url} (parts are {})", suggest::list(known)));
        };
        ["model", "tls", "token_file"].iter().for_each(|key| _ = entry.remove(*key));
        entry.insert("address".into(), toml::Value::String(url.clone()));
    }
    Ok(())
}

/// A part, with the text of its model where that is here.
fn read_part(
    name: &str,
    entry: &toml::Value,
    folder: &Path,
    connect: Connect,
) -> Result<(Part, Option<String>), String> {
    let Some(entry) = entry.as_table() else {
        return Err(format!("part `{name}` must be a table with the key `model`, `fmu` or `address`"));
    };
    if let Some(key) = entry.keys().find(|k| !KEYS.contains(&k.as_str())) {
        let near = suggest::nearest(key, KEYS.iter().copied()).map(|n| format!("; did you mean `{n}`?"));
        let keys = KEYS.join(", ");
        return Err(format!("unknown key `{key}` of part `{name}`{} (keys are {keys})", near.unwrap_or_default()));
    }
    if let Some(units) = entry.get("units").and_then(|u| u.as_str())
        && units != "SI"
    {
        return Err(format!("part `{name}` counts in `{units}`, the others in SI: convert it, or wrap it"));
    }
    let word = |key: &str| entry.get(key).and_then(|m| m.as_str());
    let number = |key: &str| entry.get(key).and_then(|v| v.as_float().or(v.as_integer().map(|i| i as f64)));
    if let (None, Some(key)) = (entry.get("fmu"), entry.keys().find(|k| KEYS_OF_FMUS.contains(&k.as_str()))) {
        return Err(format!("part `{name}` has `{key}`, which only parts with `fmu` have"));
    }
    let (space, ports, source, text) = match (word("model"), word("address"), word("fmu")) {
        (None, None, Some(file)) => {
            if let Some(key) = ["method", "step"].into_iter().find(|key| entry.contains_key(*key)) {
                return Err(format!("part `{name}` is an FMU and has its own solver: leave `{key}` out"));
            }
            let fmu = FmuFile::open(name, &folder.join(file), fmu_entry(name, entry)?)?;
            (fmu.space(), fmu.motions()?, PartSource::Fmu(Box::new(fmu)), None)
        }
        (Some(_), Some(_), None) => {
            return Err(format!("part `{name}` has a model here and an address elsewhere: leave one of them out"));
        }
        (_, _, Some(_)) => return Err(format!("part `{name}` is an FMU: leave its model or its address out")),
        (None, None, None) => {
            return Err(format!(
                "part `{name}` has no model: write model = \"file.toml\", fmu = \"file.fmu\", or address = \"https://…\""
            ));
        }
        (Some(file), None, None) => {
            let (part, text) = read_here(name, &folder.join(file))?;
            (part.model.space, part.motions(), PartSource::Here(Box::new(part)), Some(text))
        }
        (None, Some(url), None) => {
            let path = |key: &str| word(key).map(|p| folder.join(p));
            let (part, url) = (name.to_string(), url.to_string());
            let remote = connect(&RemoteEntry { part, url, tls: path("tls"), token_file: path("token_file") })?;
            (remote.space(), remote.ports(), PartSource::There(remote), None)
        }
    };
    let (method, rtol, step) = (word("method").map(str::to_string), number("rtol"), number("step"));
    Ok((Part { name: name.to_string(), space, ports, source, method, rtol, step }, text))
}

/// What an assembly says of an FMU.
fn fmu_entry(name: &str, entry: &toml::Table) -> Result<FmuEntry, String> {
    let number = |value: &toml::Value| value.as_float().or(value.as_integer().map(|n| n as f64));
    let table = |value: Option<&toml::Value>, key: &str| match value {
        None => Ok(Vec::new()),
        Some(toml::Value::Table(table)) => Ok(table.clone().into_iter().collect::<Vec<_>>()),
        Some(_) => Err(format!("`{key}` of part `{name}` must be a table")),
    };
    let mut set = Vec::new();
    for (key, value) in table(entry.get("set"), "set")? {
        let setting = match (&value, number(&value)) {
            (toml::Value::String(text), _) => Setting::Text(text.clone()),
            (toml::Value::Boolean(on), _) => Setting::Number(f64::from(u8::from(*on))),
            (_, Some(x)) => Setting::Number(x),
            _ => return Err(format!("`{key}` in `set` of part `{name}` must be a number, a truth value or a text")),
        };
        set.push((key, setting));
    }
    let mut ports = Vec::new();
    for (port, value) in table(entry.get("port"), "port")? {
        let mut members = Vec::new();
        for (member, value) in table(Some(&value), &format!("port.{port}"))? {
            let said = match (value.as_str(), number(&value)) {
                (Some(variable), _) => Said::Variable(variable.to_string()),
                (None, Some(x)) => Said::Held(x),
                _ => {
                    return Err(format!(
                        "`{member}` of port `{port}` of part `{name}` must name a variable, or be a number"
                    ));
                }
            };
            members.push((member, said));
        }
        ports.push((port, members));
    }
    let positive = |key: &str, otherwise: f64| match entry.get(key) {
        None => Ok(otherwise),
        Some(value) => number(value)
            .filter(|x| *x > 0.0)
            .ok_or_else(|| format!("`{key}` of part `{name}` must be a positive number")),
    };
    let memory = (positive("memory", 2.0)? * f64::from(1 << 30)).min(1e18) as u64;
    Ok(FmuEntry { ports, set, patience: positive("patience", 30.0)?, memory })
}

/// An assembly as text, but for where its parts are: they may move between two runs.
fn without_addresses(table: &toml::Table) -> String {
    let mut table = table.clone();
    let parts = table.get_mut("part").and_then(|parts| parts.as_table_mut());
    for part in parts.into_iter().flat_map(|parts| parts.iter_mut()).filter_map(|(_, part)| part.as_table_mut()) {
        ["address", "tls", "token_file"].iter().for_each(|key| _ = part.remove(*key));
    }
    table.to_string()
}

/// Reads the model of a part, whose probes are its ports, and assembles its start.
pub fn read_part_model(name: &str, path: &Path) -> Result<PartModel, String> {
    read_here(name, path).map(|(part, _)| part)
}

/// The same with the text that was read.
fn read_here(name: &str, path: &Path) -> Result<(PartModel, String), String> {
    if !path.exists() {
        return Err(format!("part `{name}` is missing: there is no file `{}`", path.display()));
    }
    // a message quotes what it is about: of models alone
    let known = ["toml", "json"].iter().any(|kind| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(kind)));
    if !known {
        return Err(format!("part `{name}`: a model is a .toml or .json file, and `{}` is none", path.display()));
    }
    bounded::read_text(path, bounded::LARGEST)
        .map_err(|e| format!("part `{name}`: cannot read `{}`: {e}", path.display()))?;
    let read = read_model(&path.to_string_lossy(), &[]).and_then(with_known_options);
    let Read { model, document, .. } = read.map_err(|report| format!("part `{name}`: {report}"))?;
    let text = document.sources.0.iter().map(|source| source.text.as_str()).collect();
    let ports: Vec<(String, End)> = model.probes.iter().map(|p| (p.name.clone(), p.end)).collect();
    if ports.is_empty() {
        return Err(format!(
            "part `{name}` has no ports: its model `{}` has no probes; write [probe.NAME] with the body and the point",
            path.file_name().unwrap_or_default().to_string_lossy()
        ));
    }
    let system = Arc::new(model.compile());
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let (start, _) = bellcrank_solve::start::assemble(&dynamics, &system.initial_state())
        .map_err(|e| format!("part `{name}`: {e}"))?;
    let mut state = State::default();
    start.store(&mut state);
    Ok((PartModel { name: name.to_string(), model, ports, state }, text))
}

/// The model, if every key of its `[solve]` is an option.
fn with_known_options(read: Read) -> Result<Read, Report> {
    match understood(&in_file(&read.settings)) {
        Ok(_) => Ok(read),
        Err(e) => Err(read.document.report(e.diagnostic(Voice::File).into())),
    }
}

/// Reads the interface: the text of the assembly without its parts (every line keeps its number), with the ports as bodies.
fn read_interface(
    path: &str,
    text: &str,
    table: &toml::Table,
    parts: &[Part],
    space: Space,
) -> Result<(Read, Vec<Site>), String> {
    if let Some(word) = ["body", "probe", "start", "state"].into_iter().find(|word| table.contains_key(*word)) {
        return Err(format!(
            "an assembly has no [{word}] of its own\n --> {path}\nhelp: put it into the model of a part"
        ));
    }
    let mut inside = false;
    let mut kept: String = text
        .lines()
        .map(|line| {
            let start = line.trim_start();
            if start.starts_with('[') {
                let name = start.trim_start_matches('[').trim_start();
                inside = name.starts_with("part.") || name.starts_with("part]");
            }
            if inside { "\n".to_string() } else { format!("{line}\n") }
        })
        .collect();
    let used = |name: &str| text.contains(&format!("\"{name}\"")) || text.contains(&format!("'{name}'"));
    let (mut sites, mut motions) = (Vec::new(), Vec::new());
    for (k, part) in parts.iter().enumerate() {
        for (j, (port, motion)) in part.ports.iter().enumerate() {
            let name = format!("{}/{port}", part.name);
            if !used(&name) {
                continue;
            }
            let ([x, y, z], [qw, qx, qy, qz]) = (motion.place.0, motion.rotation.0);
            let key = toml::Value::String(name.clone());
            kept += &match space {
                Space::Plane => {
                    let angle = 2.0 * qz.atan2(qw);
                    format!("\n[body.{key}]\nmass = 1\ninertia = 1\nat = [{x:?}, {y:?}]\nangle = {angle:?}\n")
                }
                Space::Space => format!(
                    "\n[body.{key}]\nmass = 1\ninertia = [1, 1, 1]\nat = [{x:?}, {y:?}, {z:?}]\n\
                     orientation = [{qw:?}, {qx:?}, {qy:?}, {qz:?}]\n"
                ),
            };
            sites.push((k, j));
            motions.push((name, *motion));
        }
    }
    let mut read = match read_text(path, &kept, &[]).and_then(with_known_options) {
        Ok(read) => read,
        Err(report) => {
            let all = parts.iter().flat_map(|p| p.ports.iter().map(move |(port, _)| format!("{}/{port}", p.name)));
            let all: Vec<String> = all.collect();
            return Err(in_terms_of_ports(&report.to_string(), &all));
        }
    };
    if let Some(signal) = read.model.signals.first() {
        let words = read.model.subject(signal.of).words;
        return Err(format!(
            "{words} is a function of the state, which an assembly does not know\n --> {path}\nhelp: put it into the model of a part"
        ));
    }
    if read.model.space != space {
        let word = if space == Space::Plane { "add plane = \"xy\" to" } else { "leave `plane` out of" };
        return Err(format!(
            "`{path}` and its parts do not live in the same space\nhelp: {word} [model] of the assembly"
        ));
    }
    for (name, motion) in motions {
        if let Some(body) = read.model.bodies.iter_mut().find(|b| b.name == name) {
            *body = port_body(&name, space, &motion);
        }
    }
    // the reader keeps the order of the file, which is that of the sites
    Ok((read, sites))
}

/// Turns a message about bodies into one about ports.
fn in_terms_of_ports(report: &str, ports: &[String]) -> String {
    let mut out = String::new();
    let mut wrong = None;
    for line in report.trim_end().lines() {
        if let Some((_, rest)) = line.split_once("unknown body `") {
            wrong = rest.split('`').next();
        }
        if !line.starts_with("help: the model has ") {
            out +=
                &line.replace("unknown body", "unknown port").replace("no body has this name", "no part has this port");
            out.push('\n');
        }
    }
    let near = wrong.and_then(|w| suggest::nearest(w, ports.iter().map(String::as_str)));
    let near = near.map_or(String::new(), |n| format!("did you mean `{n}`? "));
    format!("{out}help: {near}the ports are {}", ports.join(", "))
}

/// Checks that every port belongs to one pair of parts, every part is joined to another, and all of them are connected.
fn check_ports(between: &Model, parts: &[Part], sites: &[Site]) -> Result<(), String> {
    let elements = || {
        let joints = between.joints.iter().map(|j| ("joint", &j.name, &j.ends));
        joints.chain(between.forces.iter().map(|f| ("force", &f.name, &f.ends)))
    };
    let part_of = |body: usize| sites[body].0;
    let mut claims: Vec<Option<(usize, String)>> = vec![None; sites.len()];
    let mut joined = vec![false; parts.len()];
    // the first part of the island each one belongs to
    let mut island: Vec<usize> = (0..parts.len()).collect();
    for (kind, name, ends) in elements() {
        let bodies: Vec<usize> = ends.iter().filter_map(|e| e.body).collect();
        for &body in &bodies {
            for &other in bodies.iter().filter(|o| part_of(**o) != part_of(body)) {
                joined[part_of(body)] = true;
                let (a, b) = (island[part_of(body)], island[part_of(other)]);
                island.iter_mut().filter(|i| **i == a.max(b)).for_each(|i| *i = a.min(b));
                let claim = (part_of(other), format!("{kind} `{name}`"));
                match &claims[body] {
                    Some((part, by)) if *part != claim.0 => {
                        return Err(format!(
                            "port `{}` is claimed by part `{}` through {by} and by part `{}` through {}\n\
                             help: give its model a second probe at the same point, one for each part",
                            between.bodies[body].name, parts[*part].name, parts[claim.0].name, claim.1
                        ));
                    }
                    Some(_) => {}
                    None => claims[body] = Some(claim),
                }
            }
        }
    }
    let lonely = |k: usize| {
        let ports = parts[k].ports.iter().map(|(port, _)| format!("`{}/{port}`", parts[k].name));
        format!(
            "part `{}` is joined to no other part\nhelp: join one of its ports: {}",
            parts[k].name,
            ports.collect::<Vec<_>>().join(", ")
        )
    };
    match joined.iter().position(|j| !j) {
        Some(k) if parts.len() > 1 => return Err(lonely(k)),
        _ => {}
    }
    if island.iter().all(|i| *i == 0) {
        return Ok(());
    }
    let named = |here: bool| {
        let of = island.iter().zip(parts).filter(|(i, _)| (**i == 0) == here);
        of.map(|(_, p)| format!("`{}`", p.name)).collect::<Vec<_>>().join(", ")
    };
    Err(format!(
        "no joint and no force joins {} with {}\nhelp: join them, or run them as two assemblies",
        named(true),
        named(false)
    ))
}
