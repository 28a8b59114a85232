//! `springdamper`: springs and dampers of joints by a time constant and a damping ratio.

use super::MjcfReader;
use crate::robot::{Inertial, JointKind};

impl MjcfReader<'_> {
    /// With I the inertia that a joint moves where the file is drawn, τ the time constant and ζ the damping ratio, the stiffness
    /// is I/(τζ)² and the damping 2I/τ.
    pub fn tune_springs(&mut self) {
        if self.springs.is_empty() {
            return;
        }
        let mut carried: Vec<Inertial> = self.robot.links.iter().map(|l| l.inertial).collect();
        // links come after those that carry them
        for k in (0..self.robot.joints.len()).rev() {
            let joint = &self.robot.joints[k];
            let Some(child) = joint.between[1].filter(|_| !joint.closes) else { continue };
            let moved = carried[child];
            if let Some([time, ratio]) = self.springs.get(&k).copied() {
                let along = match joint.kind {
                    JointKind::Prismatic => moved.mass,
                    _ => joint.axes[0].dot(moved.about(joint.at) * joint.axes[0]),
                };
                let along = along + joint.along.armature;
                let joint = &mut self.robot.joints[k];
                joint.along.stiffness = along / (time * ratio).powi(2);
                joint.along.damping = 2.0 * along / time;
            }
            if let Some(parent) = self.robot.joints[k].between[0] {
                carried[parent] = carried[parent].and(moved);
            }
        }
    }
}
