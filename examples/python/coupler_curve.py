"""A four-bar linkage whose coupler point follows a curve: lengths found from the points it should pass."""

import bellcrank as bc
import numpy as np

m = bc.Model("coupler", plane=True)
crank = m.parameter("crank", 0.25)
reach = m.parameter("reach", 0.45)
turn = m.parameter("turn", 0.5)
a = m.body("a", rod=bc.rod((0, 0), (crank, 0), mass=1.0))
b = m.body("b", rod=bc.rod((crank, 0), (0.9, 0.7), mass=1.0))
c = m.body("c", rod=bc.rod((0.9, 0.7), (1.0, 0), mass=1.0))
m.joint.revolute("A", between=(bc.GROUND, a), at=(0, 0))
m.joint.revolute("B", between=(a, b), at=(crank, 0))
m.joint.revolute("C", between=(b, c), at=(0.9, 0.7))
m.joint.revolute("D", between=(bc.GROUND, c), at=(1.0, 0))
m.joint.drive("motor", joint="A", angle="2*pi*t")
m.probe("P", body=b, on=(reach * turn.cos(), reach * turn.sin()))

# the curve: that of a linkage which nobody tells
times = np.linspace(0.0, 1.0, 41)
truth = {"crank": 0.3, "reach": 0.6, "turn": 0.8}
run = m.replace(**truth).run(until=1.0, sample=0.025)
curve = {"time": times, "P.x": run["P.x"], "P.y": run["P.y"]}

bounds = {"crank": (0.15, 0.4), "reach": (0.2, 1.0), "turn": (0.0, 1.5)}
found = bc.fit(m, curve, bounds, solve={"rtol": 1e-8}, starts=2)
off = max(float(np.abs(part).max()) for part in found.residuals.values())
print(
    {name: round(value, 5) for name, value in found.parameters.items()},
    f"off the curve by {1e3 * off:.4f} mm, {found.runs} runs",
)
assert off < 1e-4
