"""A controller for a pole on a cart: designed on the linear model with python-control, tried on the whole one."""

import control
import numpy as np
from environment import cart_pole

model = cart_pole()
outputs = ["track.position", "track.rate", "hinge.angle", "hinge.rate"]
linear = model.linearize(outputs=outputs, at="start")
plant = control.ss(*linear)
print("poles:", np.round(control.poles(plant), 3))

# the outputs are the states in other words: weigh them, and feed them back
weighed = np.diag(np.sqrt([10.0, 1.0, 100.0, 1.0])) @ linear.C
K, _, poles = control.lqr(linear.A, linear.B, weighed.T @ weighed, [[0.1]])
gains = np.asarray(K) @ np.linalg.inv(linear.C)
print("closed loop:", np.round(poles, 3))

simulation = model.simulate(until=6.0)
for k in range(1, 6001):
    x = simulation.values(*outputs) - linear.output_values
    # a shove in the first tenth of a second
    push = 5.0 if k < 100 else float(-(gains @ x)[0])
    simulation.input["push"] = push
    simulation.advance_to(k * 1e-3)
x = simulation.values(*outputs) - linear.output_values
print("after 6 s:", np.round(x, 6))
assert abs(x).max() < 0.05
