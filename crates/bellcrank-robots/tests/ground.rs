//! Shapes of robot files on the ground: which contacts there are, and that what falls comes to rest on them.

use bellcrank_model::System;
use bellcrank_robots::{Ground, RobotOptions, Robots, parse};

fn robot(name: &str, text: &str, ground: Option<Ground>) -> Robots {
    let options = RobotOptions { ground, base: Some(bellcrank_robots::Base::Free), ..RobotOptions::default() };
    parse(name, text, &options).unwrap_or_else(|e| panic!("{e}"))
}

fn system(robot: &Robots) -> System {
    robot.read(&[]).unwrap_or_else(|e| panic!("{e}\n{}", robot.model.to_toml())).model.into_system()
}

fn forces(robot: &Robots) -> Vec<String> {
    system(robot).model.forces.iter().map(|f| f.name.clone()).collect()
}

/// A body with one of each shape.
const SHAPES: &str = r#"<robot name="shapes"><link name="body">
  <inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
  <collision name="ball"><origin xyz="0 0 0.5"/><geometry><sphere radius="0.1"/></geometry></collision>
  <collision name="brick"><origin xyz="0 0 0.2" rpy="0 0 0.3"/><geometry><box size="0.2 0.1 0.4"/></geometry></collision>
  <collision name="rod"><origin xyz="1 0 0.3" rpy="0 1.5707963267948966 0"/><geometry><capsule radius="0.05" length="0.6"/></geometry></collision>
  <collision name="can"><geometry><cylinder radius="0.05" length="0.1"/></geometry></collision>
  <collision><geometry><mesh filename="hull.stl"/></geometry></collision>
</link></robot>"#;

#[test]
fn spheres_ends_of_capsules_and_corners_of_boxes_touch_the_ground_and_the_rest_is_told() {
    let there = robot("shapes.urdf", SHAPES, Some(Ground::Hard));
    let names = forces(&there);
    assert_eq!(names.len(), 1 + 8 + 2, "{names:?}");
    assert!(
        names.contains(&"ball_ground".to_string()) && names.contains(&"rod_ground_contact".to_string()),
        "{names:?}"
    );
    // the ground is under the lowest corner
    let note = "the file has no ground: it is at z = 0 m, under the lowest shape as the robot is drawn";
    assert!(there.told.notes.iter().any(|n| n == note), "{:?}", there.told);
    let lost = there.told.left_out.iter().find(|l| l.what == "contact with the ground").unwrap();
    assert_eq!(lost.names, ["can", "body_5"], "{:?}", there.told);
    let none = robot("shapes.urdf", SHAPES, None);
    assert!(forces(&none).is_empty());
    assert!(none.told.left_out.iter().any(|l| l.what == "contact" && l.names == ["body"]), "{:?}", none.told);
}

#[test]
fn planes_of_mjcf_are_touched_by_geoms_whose_bits_meet_theirs() {
    let text = r#"<mujoco model="bits"><worldbody>
      <geom name="floor" type="plane" size="1 1 1" pos="0 0 -0.5" friction="0.3" contype="2" conaffinity="2"/>
      <geom name="wall" type="box" size="1 1 1"/>
      <body name="a" pos="0 0 1"><freejoint/><geom name="both" size="0.1" friction="0.7 0 0" contype="2" conaffinity="0"/></body>
      <body name="b" pos="0 0 2"><freejoint/><geom name="others" size="0.1"/><geom name="ghost" size="0.1" contype="0" conaffinity="0"/></body>
    </worldbody></mujoco>"#;
    let there = robot("bits.xml", text, Some(Ground::Soft(1e4)));
    assert_eq!(forces(&there), ["both_ground"]);
    let toml = there.model.to_toml();
    assert!(toml.contains("friction = 0.7") && toml.contains("stiffness = 10000"), "{toml}");
    assert!(there.told.left_out.iter().any(|l| l.names == ["wall"]), "{:?}", there.told);
}
