"""A suspension tuned for comfort and grip: spring and damper of the quarter car on its way over a bump."""

import bellcrank as bc

car = bc.example("quarter-car")


def cost(outputs: dict[str, float]) -> float:
    """Accelerations of the body in m/s², and loads of the tyre in kN: its mean is the weight, so that what varies counts."""
    return outputs["comfort"] ** 2 + (outputs["tyre"] / 1e3) ** 2


found = bc.minimize(
    car,
    cost,
    {"force.suspension.stiffness": (8e3, 40e3), "force.suspension.damping": (300, 4000)},
    outputs={"comfort": "body.ay.rms", "tyre": "tyre.force.rms"},
    until=2,
    solve={"rtol": 1e-8, "from": "equilibrium"},
)
stiffness, damping = found.parameters.values()
print(f"stiffness {stiffness / 1e3:.1f} kN/m, damping {damping:.0f} N s/m, comfort {found.outputs['comfort']:.3f} m/s²")
print(f"{found.runs} runs: {found.message}")

# the best of a coarse grid is no better
grid = bc.sweep(
    car,
    {"force.suspension.stiffness": [8e3, 16e3, 24e3], "force.suspension.damping": [400, 800, 1200, 1600]},
    outputs={"comfort": "body.ay.rms", "tyre": "tyre.force.rms"},
    until=2,
    solve={"rtol": 1e-8, "from": "equilibrium"},
)
best = min(cost({"comfort": c, "tyre": t}) for c, t in zip(grid["comfort"], grid["tyre"], strict=True))
print(f"cost {found.value:.4f}, best of the grid {best:.4f}")
assert found.value <= best
