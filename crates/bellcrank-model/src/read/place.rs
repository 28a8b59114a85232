//! Places on bodies: where joints, forces and probes stand, and which bodies have such places.

use super::Reader;
use crate::bodies::{Body, Coordinates, Orientation, each};
use crate::file::*;
use crate::frames::Attachment;
use crate::joints::Axes;
use crate::model::End;
use bellcrank_math::{Mat3, Quat, Vec3};

impl<'a> Reader<'a> {
    pub(super) fn body(&self, named: Named, of: &str) -> Result<Option<usize>, Diagnostic> {
        if named.name == "ground" {
            return Ok(None);
        }
        let names = || self.model.bodies.iter().map(|b| b.name.as_str()).chain(self.frames.marker_names());
        let known = self.body_names.get(named.name).copied().map(Some);
        let known = known.or_else(|| self.marker(named.name).map(|end| end.body));
        known.ok_or_else(|| named.unknown("body", of, names().chain(["ground"]).collect::<Vec<_>>()))
    }

    /// A place in the world at the start, seen from a body.
    pub(super) fn attach_world(&self, body: Option<usize>, point: Vec3, axes: Mat3) -> End {
        let on = match body {
            None => Attachment::new(point, axes),
            Some(b) => {
                let (p, r) = self.pose(b);
                Attachment::new(r.transpose_times(point - p), r.transpose() * axes)
            }
        };
        End { body, on }
    }

    pub(super) fn pose(&self, b: usize) -> (Vec3, Mat3) {
        let entry = &self.model.bodies[b];
        (entry.at, entry.rotation.matrix())
    }

    /// A place on a body, seen from the world at the start.
    pub(super) fn world(&self, end: &End) -> Vec3 {
        match end.body {
            None => end.on.point,
            Some(b) => {
                let (p, r) = self.pose(b);
                p + r * end.on.point
            }
        }
    }

    pub(super) fn two_bodies(&self, v: &Values) -> Result<[Option<usize>; 2], Diagnostics> {
        let names = v.names("between");
        let mut problems = Diagnostics::new();
        let found: Vec<_> = names.iter().map(|n| problems.take(self.body(*n, v.what()))).collect();
        problems.or(())?;
        if names[0].name == names[1].name {
            let message = format!("{} joins `{}` with itself", v.what(), names[0].name);
            return Err(v.error_at("between", message).help("name two different bodies").into());
        }
        let bodies = [found[0].flatten(), found[1].flatten()];
        if bodies[0] == bodies[1] {
            let body = bodies[0].map_or("the ground", |b| self.model.bodies[b].name.as_str());
            let message = format!("{} joins two markers on {body}", v.what());
            return Err(v.error_at("between", message).help("name markers on two different bodies").into());
        }
        Ok(bodies)
    }

    /// The place of a force on one body, or of a probe.
    pub(super) fn one_end(&self, v: &Values) -> Result<End, Diagnostics> {
        v.at_most_one(&["at", "on"])?;
        let body = self.body(v.name("body"), v.what())?;
        if let Some(end) = self.marked_end(v)? {
            return Ok(end);
        }
        if let Some(point) = v.optional_vector("on") {
            return Ok(self.on_body(body, point, Mat3::IDENTITY));
        }
        match v.optional_vector("at") {
            Some(point) => Ok(self.attach(body, point, Mat3::IDENTITY)),
            None => Ok(self.middle_end(body)),
        }
    }

    /// A place in a body's own frame; that of the ground is the part's.
    pub(super) fn on_body(&self, body: Option<usize>, point: Vec3, axes: Mat3) -> End {
        match self.is_ground(body) {
            true => self.attach(body, point, axes),
            false => End { body, on: Attachment::new(point, axes) },
        }
    }

    /// The centre of mass of a body, or the origin of the part's ground.
    pub(super) fn middle_end(&self, body: Option<usize>) -> End {
        match body {
            None => self.ground_end(),
            _ => End { body, on: self.middle(body) },
        }
    }

    /// The two places of a joint or of a force between bodies.
    pub(super) fn ends(
        &self,
        v: &Values,
        bodies: [Option<usize>; 2],
        axes: Axes,
        two_points: bool,
    ) -> Result<[End; 2], Diagnostics> {
        v.at_most_one(&["at", "on"])?;
        let what = v.what();
        let axis = |key: &str, k: usize| v.optional_points(key).map(|a| a[k.min(a.len() - 1)]);
        let frame = |k: usize| -> Result<Mat3, Diagnostics> {
            match axes {
                Axes::Shafts => self.shaft(v, bodies, k),
                Axes::Road => Ok(self.road_or_wheel(v, k)),
                Axes::Facing => Ok(self.facing(v.optional_vector("normal"))),
                Axes::Rolling if k == 0 || self.plane => Ok(self.facing(v.optional_vector("normal"))),
                Axes::Rolling => Ok(self.facing(axis("axis", 1))),
                Axes::Turning if self.plane => Ok(Mat3::IDENTITY),
                Axes::Sliding if self.plane => {
                    let x = axis("axis", k).unwrap_or(Vec3::X);
                    Ok(Mat3::from_columns(x, Vec3::Z.cross(x), Vec3::Z))
                }
                Axes::None if !v.has("axis") => Ok(Mat3::IDENTITY),
                _ => {
                    let z = axis("axis", k).unwrap_or(Vec3::Z);
                    let x = match axis("axis2", k) {
                        None => self.across(z, axes == Axes::Turning),
                        Some(x) => (x - z * x.dot(z)).normalized().ok_or_else(|| {
                            v.error_at("axis2", format!("`axis` and `axis2` of {what} are parallel"))
                                .help("`axis2` must point another way")
                        })?,
                    };
                    Ok(Mat3::from_columns(x, z.cross(x), z))
                }
            }
        };
        let told = ["axis", "axis2", "normal"].iter().any(|key| v.has(key));
        let given = if told { Some([frame(0)?, frame(1)?]) } else { None };
        if let Some(ends) = self.marked_ends(v, bodies, axes, two_points, given)? {
            return Ok(ends);
        }
        if let Some(on) = v.optional_points("on") {
            return Ok([self.on_body(bodies[0], on[0], frame(0)?), self.on_body(bodies[1], on[1], frame(1)?)]);
        }
        let points = match v.optional_points("at") {
            Some(at) => at,
            None => {
                let at =
                    if two_points { "`at = [[…], […]]`, a point on each body" } else { "`at = […]`, a point" };
                let help =
                    format!("add {at} in the world at the start, or `on = [[…], […]]`, a point in each body's frame");
                return Err(v.error(format!("{what} needs `at` or `on`")).help(help).into());
            }
        };
        if points.len() != if two_points { 2 } else { 1 } {
            let message = if two_points {
                format!("`at` of {what} needs two points, one on each body")
            } else {
                format!("`at` of {what} needs one point")
            };
            let help = "`at = [[…], […]]` holds two points; to give a point on each body in its own frame use `on`";
            return Err(v.error_at("at", message).help(help).into());
        }
        let place = |k: usize| -> Result<End, Diagnostics> {
            let mut end = self.attach(bodies[k], points[k.min(points.len() - 1)], frame(k)?);
            if self.plane && axes == Axes::Turning && !self.is_ground(bodies[k]) {
                end.on.axes = Mat3::IDENTITY; // the angle of the joint is that between the bodies
            }
            Ok(end)
        };
        Ok([place(0)?, place(1)?])
    }

    /// Axes of which y, or in space z, points along a direction.
    pub(super) fn facing(&self, direction: Option<Vec3>) -> Mat3 {
        if self.plane {
            let y = direction.unwrap_or(Vec3::Y);
            return Mat3::from_columns(y.cross(Vec3::Z), y, Vec3::Z);
        }
        let z = direction.unwrap_or(Vec3::Z);
        let x = z.any_perpendicular();
        Mat3::from_columns(x, z.cross(x), z)
    }

    /// The axes of a road (z is `normal`, x that of the world or body, levelled), or those of a wheel (z is `axis`); in the
    /// plane y of both is `normal`.
    pub(super) fn road_or_wheel(&self, v: &Values, k: usize) -> Mat3 {
        let normal = v.optional_vector("normal");
        if self.plane {
            return self.facing(normal);
        }
        if k == 1 {
            return self.facing(Some(v.optional_points("axis").map_or(Vec3::Y, |a| a[0])));
        }
        let z = normal.unwrap_or(Vec3::Z);
        let level = |x: Vec3| (x - z * x.dot(z)).normalized().filter(|_| x.dot(z).abs() < 0.9);
        let x = level(Vec3::X).or_else(|| level(Vec3::Y)).unwrap_or_else(|| z.any_perpendicular());
        Mat3::from_columns(x, z.cross(x), z)
    }

    /// The frame of one of two shafts that meet: in the world, or with `on` in the body's frame.
    fn shaft(&self, v: &Values, bodies: [Option<usize>; 2], k: usize) -> Result<Mat3, Diagnostics> {
        let place = |k: usize| match bodies[k] {
            // in the part's axes
            Some(b) if v.has("on") && !self.is_ground(bodies[k]) => self.axes_here().transpose() * self.pose(b).1,
            _ => Mat3::IDENTITY,
        };
        let given = |key: &str, k: usize| v.optional_points(key).map(|a| a[k.min(a.len() - 1)]);
        let first = place(0) * given("axis", 0).unwrap_or(Vec3::Z);
        let second = match given("axis2", 1) {
            Some(z) => place(1) * z,
            None => place(1) * given("axis", 1).unwrap_or(Vec3::Z),
        };
        let (axis, cosine) = (first.cross(second), first.dot(second));
        let angle = axis.norm().atan2(cosine);
        if angle > std::f64::consts::FRAC_PI_2 {
            let message = format!("the shafts of {} are bent by {:.0}°", v.what(), angle.to_degrees());
            let help = "`axis` points along the first shaft towards the joint, `axis2` along the second away from it";
            return Err(v.error_at("axis2", message).help(help).into());
        }
        let x = first.any_perpendicular();
        let straight = Mat3::from_columns(x, first.cross(x), first);
        let bend = axis.normalized().map_or(Mat3::IDENTITY, |n| Quat::exp(n * angle).matrix());
        Ok(place(k).transpose() * if k == 0 { straight } else { bend * straight })
    }

    /// Refuses places that a body does not have.
    pub(super) fn check_place(&self, v: &Values, end: &End, rotational: bool) -> Result<(), Diagnostics> {
        let Some(b) = end.body else { return Ok(()) };
        let entry = &self.model.bodies[b];
        let (what, name) = (v.what(), &entry.name);
        let key = if v.has("on") { "on" } else { "at" };
        if let Body::Flexible(body) = &entry.body
            && end.on.node != crate::frames::RIGIDLY
        {
            return self.check_station(v, end, body, name, rotational);
        }
        let orientation = each!(&entry.body, b => b.orientation());
        let scale = 1e-9 * (1.0 + entry.at.norm() + end.on.point.norm());
        // a force has no weaker kind to offer
        let other = if what.starts_with("joint") { ", or use a spherical joint" } else { "" };
        match orientation {
            Orientation::Full => Ok(()),
            Orientation::None if rotational => {
                let message = format!("{what} needs the rotation of `{name}`, which is a point mass");
                let help = format!("give `{name}` an `inertia` or a shape{other}");
                Err(v.error_at("type", message).help(help).into())
            }
            Orientation::None if end.on.point.norm() > scale => {
                let message =
                    format!("{what} is {:.3} m away from `{name}`, which is a point mass", end.on.point.norm());
                let help = format!("put it at the place of `{name}`, or give `{name}` an `inertia` or a shape");
                Err(v.error_at(key, message).help(help).into())
            }
            Orientation::Direction if rotational => {
                let message =
                    format!("{what} needs the spin of `{name}`, a thin rod in natural coordinates, which has none");
                let help =
                    format!("give the rod `{name}` a `radius` or an `inertia` instead of natural coordinates{other}");
                Err(v.error_at("type", message).help(help).into())
            }
            Orientation::Direction if end.on.point[1].hypot(end.on.point[2]) > scale => {
                let message = format!("{what} is not on the line of the thin rod `{name}`");
                Err(v.error_at(key, message).help(format!("put it on the rod, or give `{name}` a `radius`")).into())
            }
            _ => Ok(()),
        }
    }
}
