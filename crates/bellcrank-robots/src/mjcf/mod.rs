//! MJCF: bodies, joints, what geoms weigh and look like, equalities, actuators, defaults and includes
//! [mujoco.readthedocs.io, XML reference].

mod acts;
mod defaults;
mod geoms;

use crate::robot::{Along, FloorPlane, Inertial, Joint, JointKind, Link, Pose, Robot, Touch, Visual, rgba};
use crate::xml::{El, Includes};
use bellcrank_math::{Mat3, Quat, Vec3, rotation};
use bellcrank_model::appearance::Appearance;
use bellcrank_model::file::suggest::quoted;
use bellcrank_model::file::{Diagnostic, Diagnostics};
use defaults::{Defaults, With};
use geoms::{Asset, Geom, Weighed};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How MJCF files include others.
pub const INCLUDE: Includes = Includes { element: "include", attribute: "file" };

/// Groups of geoms that are drawn: those that MuJoCo's viewer shows.
const SHOWN: std::ops::Range<i64> = 0..3;

/// Sections that say nothing about the motion, and those that have a reader.
const SILENT: [&str; 12] = [
    "compiler",
    "option",
    "size",
    "visual",
    "statistic",
    "asset",
    "default",
    "worldbody",
    "equality",
    "actuator",
    "custom",
    "extension",
];

/// The settings of `<compiler>` that matter.
struct Compiler {
    degrees: bool,
    sequence: String,
    from_geoms: Option<bool>,
    limits: bool,
    balance: bool,
    least: [f64; 2],
    total: f64,
    groups: [f64; 2],
    meshes: PathBuf,
    strips: bool,
}

/// What is known of a joint beside what all formats have.
#[derive(Clone, Copy)]
struct Known {
    number: usize,
    /// The coordinate in the file where ours is zero.
    zero: f64,
}

/// A file as it is read.
struct MjcfReader<'a> {
    compiler: Compiler,
    defaults: Defaults<'a>,
    assets: HashMap<String, Asset>,
    materials: HashMap<&'a str, Appearance>,
    folder: PathBuf,
    robot: Robot,
    links: HashMap<&'a str, usize>,
    joints: HashMap<&'a str, Known>,
    sites: HashMap<&'a str, (Option<usize>, Pose)>,
    problems: Diagnostics,
}

/// A body to be read, with what it stands in.
struct Todo<'a> {
    el: El<'a>,
    parent: Option<usize>,
    pose: Pose,
    class: Option<&'a str>,
}

pub fn read(root: El, path: &Path) -> Result<Robot, Diagnostics> {
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let compiler = Compiler::read(root).map_err(Diagnostics::from)?;
    let robot = Robot { name: root.attribute("model").unwrap_or("").to_string(), tells_base: true, ..Robot::default() };
    let mut reader = MjcfReader {
        compiler,
        defaults: Defaults::read(root),
        assets: HashMap::new(),
        materials: HashMap::new(),
        folder,
        robot,
        links: HashMap::new(),
        joints: HashMap::new(),
        sites: HashMap::new(),
        problems: Diagnostics::new(),
    };
    let options = reader.options(root);
    reader.problems.take(options);
    let assets = reader.meshes(root);
    reader.problems.take(assets);
    reader.bodies(root);
    std::mem::take(&mut reader.problems).or(())?;
    let weighed = reader.weigh();
    reader.problems.take(weighed);
    reader.equalities(root);
    reader.actuators(root);
    for section in root.children().filter(|s| !SILENT.contains(&s.name())) {
        for (k, el) in section.children().enumerate() {
            let name = el.attribute("name").map_or_else(|| format!("{}{k}", el.name()), str::to_string);
            reader.robot.told.leave(&format!("<{}>", section.name()), "a model has nothing like it", name);
        }
    }
    reader.problems.or(())?;
    Ok(reader.robot)
}

impl Compiler {
    fn read(root: El) -> Result<Compiler, Diagnostic> {
        let mut c = Compiler {
            degrees: true,
            sequence: "xyz".into(),
            from_geoms: None,
            limits: true,
            balance: false,
            least: [0.0; 2],
            total: -1.0,
            groups: [0.0, 5.0],
            meshes: PathBuf::new(),
            strips: false,
        };
        for el in root.all("compiler") {
            for (name, value) in el.attributes() {
                match name {
                    "angle" => c.degrees = value != "radian",
                    "eulerseq" => c.sequence = value.to_string(),
                    "inertiafromgeom" => c.from_geoms = if value == "auto" { None } else { Some(value == "true") },
                    "autolimits" => c.limits = value == "true",
                    "balanceinertia" => c.balance = value == "true",
                    "boundmass" => c.least[0] = el.number(name)?.unwrap_or(0.0),
                    "boundinertia" => c.least[1] = el.number(name)?.unwrap_or(0.0),
                    "settotalmass" => c.total = el.number(name)?.unwrap_or(-1.0),
                    "inertiagrouprange" => c.groups = el.some(name)?.unwrap_or(c.groups),
                    "meshdir" | "assetdir" => c.meshes = PathBuf::from(value),
                    "strippath" => c.strips = value == "true",
                    "coordinate" if value == "global" => {
                        let help = "save it with a recent version of MuJoCo, which uses local ones only";
                        return Err(el.error("global coordinates are not read").help(help));
                    }
                    _ => {}
                }
            }
        }
        Ok(c)
    }

    fn angle(&self, x: f64) -> f64 {
        if self.degrees { x.to_radians() } else { x }
    }
}

impl<'a> MjcfReader<'a> {
    fn options(&mut self, root: El<'a>) -> Result<(), Diagnostic> {
        self.robot.gravity = Vec3::new(0.0, 0.0, -9.81);
        for el in root.all("option") {
            if let Some(g) = el.some("gravity")? {
                self.robot.gravity = Vec3(g);
            }
            for key in ["wind", "density", "viscosity", "magnetic"] {
                let told = el.numbers(key)?.is_some_and(|x| x.iter().any(|x| *x != 0.0));
                if told && key != "magnetic" {
                    self.robot.told.leave("the medium", "a model has forces of the air by `drag` alone", key);
                }
            }
            if el.child("flag").is_some_and(|f| f.attribute("gravity") == Some("disable")) {
                self.robot.gravity = Vec3::ZERO;
            }
        }
        Ok(())
    }

    fn meshes(&mut self, root: El<'a>) -> Result<(), Diagnostic> {
        for el in root.all("asset").flat_map(|a| a.all("material").collect::<Vec<_>>()) {
            let colour = self.defaults.of(el, None).numbers("rgba")?.map_or(Appearance::default(), |c| rgba(&c));
            el.attribute("name").map(|name| self.materials.insert(name, colour));
        }
        for el in root.all("asset").flat_map(|a| a.all("mesh").collect::<Vec<_>>()) {
            let with = self.defaults.of(el, None);
            let Some(file) = with.attribute("file") else { continue };
            let file = Path::new(file);
            let file = if self.compiler.strips { Path::new(file.file_name().unwrap_or_default()) } else { file };
            let name = match el.attribute("name") {
                Some(name) => name.to_string(),
                None => file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default(),
            };
            let scale = Vec3(with.some("scale")?.unwrap_or([1.0; 3]));
            let quat = with.some::<4>("refquat")?.map_or(Quat::IDENTITY, |q| Quat(q).normalized());
            let frame = Pose { p: Vec3(with.some("refpos")?.unwrap_or_default()), r: quat.matrix() };
            let file = self.compiler.meshes.join(file).to_string_lossy().into_owned();
            let weighed = match with.attribute("inertia") {
                None | Some("legacy") => Weighed::Pyramids,
                Some("exact") => Weighed::Inside,
                Some(_) => Weighed::Otherwise,
            };
            self.assets.insert(name, Asset { file, scale, frame, weighed });
        }
        Ok(())
    }

    /// `pos` and any of the ways to tell a rotation.
    fn pose(&self, with: &With) -> Result<Pose, Diagnostic> {
        let p = Vec3(with.some("pos")?.unwrap_or_default());
        let wrong = |what: &str| with.el.error(format!("`{what}` of {} is not a rotation", with.el.words()));
        let direction = |x: &[f64], what: &str| Vec3::from_slice(x).normalized().ok_or_else(|| wrong(what));
        let r = if let Some(q) = with.some::<4>("quat")? {
            if q.iter().all(|x| *x == 0.0) {
                return Err(wrong("quat"));
            }
            Quat(q).normalized().matrix()
        } else if let Some(a) = with.some::<4>("axisangle")? {
            rotation::exp(direction(&a[..3], "axisangle")? * self.compiler.angle(a[3]))
        } else if let Some(angles) = with.some::<3>("euler")? {
            let mut r = Mat3::IDENTITY;
            for (c, angle) in self.compiler.sequence.chars().zip(angles) {
                let axis = match c.to_ascii_lowercase() {
                    'x' => Vec3::X,
                    'y' => Vec3::Y,
                    _ => Vec3::Z,
                };
                let turn = rotation::exp(axis * self.compiler.angle(angle));
                r = if c.is_ascii_lowercase() { r * turn } else { turn * r };
            }
            r
        } else if let Some(a) = with.some::<6>("xyaxes")? {
            let x = direction(&a[..3], "xyaxes")?;
            let y = Vec3::from_slice(&a[3..]);
            let y = (y - x * x.dot(y)).normalized().ok_or_else(|| wrong("xyaxes"))?;
            Mat3::from_columns(x, y, x.cross(y))
        } else if let Some(z) = with.some::<3>("zaxis")? {
            let z = direction(&z, "zaxis")?;
            // the least rotation that brings z there
            match Vec3::Z.cross(z).normalized() {
                Some(axis) => rotation::exp(axis * Vec3::Z.dot(z).clamp(-1.0, 1.0).acos()),
                None if z[2] < 0.0 => rotation::exp(Vec3::X * std::f64::consts::PI),
                None => Mat3::IDENTITY,
            }
        } else {
            Mat3::IDENTITY
        };
        Ok(Pose { p, r })
    }

    /// All bodies, each after the one it stands in.
    fn bodies(&mut self, root: El<'a>) {
        let mut stack: Vec<Todo> = Vec::new();
        for world in root.all("worldbody").collect::<Vec<_>>().into_iter().rev() {
            stack.push(Todo { el: world, parent: None, pose: Pose::IDENTITY, class: None });
        }
        while let Some(todo) = stack.pop() {
            let more = match todo.el.name() {
                "body" => self.body(todo),
                _ => self.contents(todo), // the world, or a frame
            };
            if let Some(more) = self.problems.take(more) {
                stack.extend(more.into_iter().rev());
            }
        }
    }

    /// A body: its link, its joints, and what stands in it.
    fn body(&mut self, todo: Todo<'a>) -> Result<Vec<Todo<'a>>, Diagnostic> {
        let Todo { el, parent, pose, class } = todo;
        let class = el.attribute("childclass").or(class);
        let pose = pose.then(&self.pose(&With::bare(el))?);
        let name = el.attribute("name").map_or_else(|| format!("body{}", self.robot.links.len()), str::to_string);
        let joints: Vec<El> = el.children().filter(|c| matches!(c.name(), "joint" | "freejoint")).collect();
        let link = |name: String| Link {
            name,
            span: el.span(),
            pose,
            inertial: Inertial::NONE,
            visuals: Vec::new(),
            fixed: false,
        };
        let fixed = |child: usize| {
            let (at, axes) = (pose.p, [Vec3::Z, Vec3::X]);
            let name = format!("{name}_fixed");
            let between = [parent, Some(child)];
            let (kind, along) = (JointKind::Fixed, Along::default());
            Joint { name, span: el.span(), kind, between, at, axes, pitch: 0.0, closes: false, along }
        };
        if joints.is_empty() {
            let own = self.robot.links.len();
            self.robot.links.push(link(name.clone()));
            self.robot.joints.push(fixed(own));
        }
        let mut before = parent;
        for (k, j) in joints.iter().enumerate() {
            let own = self.robot.links.len();
            let last = k + 1 == joints.len();
            self.robot.links.push(link(if last { name.clone() } else { format!("{name}_{}", k + 1) }));
            self.joint(*j, class, [before, Some(own)], &pose, &name)?;
            before = Some(own);
        }
        let own = self.robot.links.len() - 1;
        if let Some(name) = el.attribute("name")
            && self.links.insert(name, own).is_some()
        {
            let help = "give one of them another name";
            return Err(el.error(format!("body {} is there twice", quoted(name))).help(help));
        }
        if el.numbers("gravcomp")?.is_some_and(|g| g.first().is_some_and(|g| *g != 0.0)) {
            self.robot.told.leave("`gravcomp`", "weights act on all bodies", name.clone());
        }
        if el.attribute("mocap") == Some("true") {
            self.robot.told.leave("`mocap`", "the body is fixed in place", name);
        }
        self.contents(Todo { el, parent: Some(own), pose, class })
    }

    /// What stands in a body, a frame or the world: geoms, sites and the inertial are read, the rest is to be done.
    fn contents(&mut self, todo: Todo<'a>) -> Result<Vec<Todo<'a>>, Diagnostic> {
        let Todo { el, parent, pose, class } = todo;
        let class = if el.name() == "frame" { el.attribute("childclass").or(class) } else { class };
        let pose = if el.name() == "frame" { pose.then(&self.pose(&With::bare(el))?) } else { pose };
        let mut more = Vec::new();
        let mut weight: Option<Inertial> = None;
        let mut geoms = Inertial::NONE;
        for c in el.children() {
            match c.name() {
                "body" | "frame" => more.push(Todo { el: c, parent, pose, class }),
                "inertial" => weight = Some(self.inertial(c)?.at(&pose)),
                "site" => {
                    let with = self.defaults.of(c, class);
                    let site = pose.then(&self.pose(&with)?);
                    c.attribute("name").map(|name| self.sites.insert(name, (parent, site)));
                }
                "geom" => {
                    let geom = self.geom(c, class)?;
                    self.touch(&geom, c, parent, &pose);
                    if (self.compiler.groups[0]..=self.compiler.groups[1]).contains(&(geom.group as f64)) {
                        geoms = geoms.and(geom.inertial.at(&pose));
                    }
                    if let (Some(look), Some(l), true) = (geom.look, parent, SHOWN.contains(&geom.group)) {
                        let (pose, appearance) = (pose.then(&geom.pose), geom.appearance);
                        self.robot.links[l].visuals.push(Visual { pose, look, appearance, span: c.span() });
                    }
                }
                "composite" | "flexcomp" | "replicate" | "attach" => {
                    let help = "save the model with MuJoCo, which expands them";
                    return Err(c.error(format!("<{}> is not read", c.name())).help(help));
                }
                _ => {}
            }
        }
        let Some(l) = parent else { return Ok(more) };
        let inertial = match (self.compiler.from_geoms, weight) {
            (Some(true), _) | (None, None) => geoms,
            (_, given) => given.unwrap_or(Inertial::NONE),
        };
        let own = &mut self.robot.links[l].inertial;
        *own = if el.name() == "frame" { own.and(geoms) } else { own.and(inertial) };
        Ok(more)
    }

    /// A geom that touches others: a shape of a body, or a plane of the world.
    fn touch(&mut self, geom: &Geom, el: El<'a>, parent: Option<usize>, pose: &Pose) {
        let (pose, bits, friction) = (pose.then(&geom.pose), geom.bits, Some(geom.friction));
        if bits == [0, 0] {
            return;
        }
        let own = el.attribute("name").map(str::to_string);
        match parent {
            Some(link) => {
                let name = own.unwrap_or_else(|| self.robot.links[link].name.clone());
                self.robot.touches.push(Touch { link, name, look: geom.look.clone(), pose, friction, bits });
            }
            None if geom.plane => self.robot.planes.push(FloorPlane { pose, friction, bits }),
            None => {
                let why = "shapes of the world other than planes touch nothing";
                self.robot.told.leave("contact", why, own.unwrap_or_else(|| "worldbody".into()));
            }
        }
    }

    fn inertial(&self, el: El<'a>) -> Result<Inertial, Diagnostic> {
        let with = With::bare(el);
        let mass = el.number("mass")?.unwrap_or(0.0);
        let pose = self.pose(&with)?;
        let inertia = match (el.some::<6>("fullinertia")?, el.some::<3>("diaginertia")?) {
            (Some([xx, yy, zz, xy, xz, yz]), _) => Mat3([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
            (None, Some(d)) => Mat3::diagonal(Vec3(d)),
            (None, None) => Mat3::ZERO,
        };
        Ok(Inertial { mass, centre: Vec3::ZERO, inertia }.at(&pose))
    }

    fn joint(
        &mut self,
        el: El<'a>,
        class: Option<&'a str>,
        between: [Option<usize>; 2],
        pose: &Pose,
        body: &str,
    ) -> Result<(), Diagnostic> {
        let with = self.defaults.of(el, class);
        let number = self.robot.joints.len();
        let name = el.attribute("name").map_or_else(|| format!("{body}_joint{number}"), str::to_string);
        let free = el.name() == "freejoint";
        let kind = match with.attribute("type") {
            _ if free => JointKind::Free,
            None | Some("hinge") => JointKind::Revolute,
            Some("slide") => JointKind::Prismatic,
            Some("ball") => JointKind::Ball,
            Some("free") => JointKind::Free,
            Some(other) => {
                return Err(el.error(format!("joint {} has the unknown type {}", quoted(&name), quoted(other))));
            }
        };
        let axis = Vec3(with.some("axis")?.unwrap_or([0.0, 0.0, 1.0]));
        let Some(axis) = axis.normalized() else {
            return Err(el.error(format!("the axis of joint {} is zero", quoted(&name))));
        };
        let at = pose.p + pose.r * Vec3(with.some("pos")?.unwrap_or_default());
        let turns = kind == JointKind::Revolute;
        let angle = |x: f64| if turns { self.compiler.angle(x) } else { x };
        let zero = angle(with.number_or("ref", 0.0)?);
        let range = with.some::<2>("range")?;
        let limited = match with.attribute("limited") {
            Some("true") => true,
            Some("false") => false,
            _ => self.compiler.limits && range.is_some(),
        };
        let along = Along {
            limits: range.filter(|_| limited && kind.is_single()).map(|r| r.map(|x| angle(x) - zero)),
            damping: with.number_or("damping", 0.0)?,
            friction: with.number_or("frictionloss", 0.0)?,
            stiffness: with.number_or("stiffness", 0.0)?,
            rest: angle(with.number_or("springref", 0.0)?) - zero,
            armature: with.number_or("armature", 0.0)?,
            settles: with.some::<2>("springdamper")?.filter(|s| kind.is_single() && s.iter().all(|x| *x > 0.0)),
        };
        self.tell_springs(&with, &name, kind)?;
        if kind == JointKind::Free && !free {
            for (what, x) in [("damping", along.damping), ("friction", along.friction), ("armature", along.armature)] {
                if x != 0.0 {
                    self.robot.told.leave(&format!("the {what}"), "the body moves freely", name.clone());
                }
            }
        }
        if zero != 0.0 {
            self.robot.told.note(format!("the coordinate of joint `{name}` is zero where the file has {zero}"));
        }
        if let Some(name) = el.attribute("name")
            && self.joints.insert(name, Known { number, zero }).is_some()
        {
            return Err(el
                .error(format!("joint {} is there twice", quoted(name)))
                .help("give one of them another name"));
        }
        let axes = [pose.r * axis, Vec3::ZERO];
        self.robot.joints.push(Joint {
            name,
            span: el.span(),
            kind,
            between,
            at,
            axes,
            pitch: 0.0,
            closes: false,
            along,
        });
        Ok(())
    }

    /// What is left out of the springs and dampers of a joint.
    fn tell_springs(&mut self, with: &With, name: &str, kind: JointKind) -> Result<(), Diagnostic> {
        let settles = with.some::<2>("springdamper")?.is_some_and(|s| s.iter().all(|x| *x > 0.0));
        if settles && !kind.is_single() {
            self.robot.told.leave("`springdamper`", "the joint has several coordinates", name);
        }
        for key in ["damping", "stiffness"] {
            if with.numbers(key)?.is_some_and(|x| x.iter().skip(1).any(|x| *x != 0.0)) {
                self.robot.told.leave("nonlinear damping or stiffness", "its first coefficient is kept", name);
            }
        }
        Ok(())
    }

    /// What `<compiler>` says about all masses.
    fn weigh(&mut self) -> Result<(), Diagnostic> {
        let c = &self.compiler;
        let moving = |l: &Link| l.inertial.mass > 0.0 || l.inertial.inertia != Mat3::ZERO;
        for l in self.robot.links.iter_mut().filter(|l| moving(l)) {
            let i = &mut l.inertial;
            i.mass = i.mass.max(c.least[0]);
            let (moments, axes) = crate::merge::eigen(&i.inertia);
            let [a, b, d] = moments.0;
            let uneven = a + b < d || a + d < b || b + d < a;
            let moments = if c.balance && uneven { Vec3::new(1.0, 1.0, 1.0) * ((a + b + d) / 3.0) } else { moments };
            let raised = Vec3(moments.0.map(|x| x.max(c.least[1])));
            if raised != Vec3([a, b, d]) {
                i.inertia = axes * Mat3::diagonal(raised) * axes.transpose();
            }
        }
        let sum: f64 = self.robot.links.iter().map(|l| l.inertial.mass).sum();
        if c.total > 0.0 && sum > 0.0 {
            for l in &mut self.robot.links {
                l.inertial.mass *= c.total / sum;
                l.inertial.inertia = l.inertial.inertia * (c.total / sum);
            }
        }
        Ok(())
    }
}
