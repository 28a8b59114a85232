"""Your first mechanism: a pendulum, its energy and its period."""

import bellcrank as bc
import numpy as np

m = bc.Model("pendulum", plane=True, gravity=(0, -9.81))
arm = m.body("arm", rod=bc.rod((0, 0), (1, 0), mass=2.0))
pin = m.joint.revolute("pin", between=(bc.GROUND, arm), at=(0, 0))
m.start(pin, angle=-np.pi / 2 + 0.1)

r = m.run(until=10.0, rtol=1e-9)
print(r.summary)

# the period, from the times at which the pendulum passes its lowest place to the right
angle, t = r["pin.angle"] + np.pi / 2, r.time
up = np.flatnonzero((angle[:-1] < 0) & (angle[1:] >= 0))
crossings = t[up] - angle[up] * (t[up + 1] - t[up]) / (angle[up + 1] - angle[up])
period = float(np.diff(crossings).mean())
# a thin rod swings as 2π √(2 l / 3 g), a little slower at 0.1 rad
exact = 2 * np.pi * np.sqrt(2 / (3 * 9.81)) * (1 + 0.1**2 / 16)
print(f"period {period:.5f} s, in theory {exact:.5f} s")
assert abs(period - exact) < 2e-4
