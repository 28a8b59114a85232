"""Multibody dynamics: describe bodies, joints and forces, and get the motion with the evidence that it is right.

>>> import bellcrank as bc
>>> m = bc.Model("pendulum", plane=True, gravity=(0, -9.81))
>>> arm = m.body("arm", rod=bc.rod((0, 0), (1, 0), mass=2.0))
>>> pin = m.joint.revolute("pin", between=(bc.GROUND, arm), at=(0, 0))
>>> r = m.run(until=2.0, sample=0.01)
>>> r["pin.angle"].shape
(201,)

| to | use |
|---|---|
| read a model | `load`, `loads`, `load_robot`, `example` |
| build one | `Model` with `body`, `joint.*`, `force.*`, `parameter`, `input`, `fmu` |
| run it | `Model.run`, which gives `Results` |
| step it | `Model.simulate`, which gives a `Simulation` |
| run it many times | `sweep`, with `uniform`, `normal` and the like; `open_study` |
| differentiate it | `sensitivity` |
| tune it, fit it to measurements | `minimize`, `fit` |
| run parts with solvers of their own | `glue` |
| analyse it | `Model.check`, `plan`, `statics`, `modes`, `linearize`, `inverse` |
| bring equations of your own | `Equations` |
| read results from files | `open` |

Quantities are in SI units.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _interpreter  # noqa: F401
from ._bellcrank import State, __version__
from ._catalog import beam, box, cylinder, mesh, modal, rod, section, sphere, table
from ._cli import main as _main  # noqa: F401
from ._equations import Equations
from ._errors import BellcrankError, ChannelError, DoubtWarning, ModelError, OptionError, ResultsError, SimulationError
from ._model import Model, example, examples, load, load_robot, loads
from ._names import GROUND, Body, Force, Joint, Probe, Symbol, t
from ._reports import (
    Check,
    Demand,
    Doubt,
    Equilibrium,
    Event,
    Finding,
    Inverse,
    LinearModel,
    Mode,
    Modes,
    Plan,
    Summary,
    Verification,
)
from ._results import Page, Plot, Results
from ._results import open_results as open
from ._sensitivity import Sensitivity, sensitivity
from ._simulation import Inputs, Simulation, Step
from ._study import Sweep, log_normal, log_uniform, normal, open_study, ray_executor, sweep, triangular, uniform

if _TYPE_CHECKING:
    from ._glue import Glued, glue
    from ._optimize import Fit, Minimum, fit, minimize
else:

    def __getattr__(name: str) -> object:
        """What needs NumPy, SciPy or other processes is imported when it is asked for."""
        if name in ("Glued", "glue"):
            from . import _glue

            return getattr(_glue, name)
        if name in ("Fit", "Minimum", "fit", "minimize"):
            from . import _optimize

            return getattr(_optimize, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "GROUND",
    "BellcrankError",
    "Body",
    "ChannelError",
    "Check",
    "Demand",
    "Doubt",
    "DoubtWarning",
    "Equations",
    "Equilibrium",
    "Event",
    "Finding",
    "Fit",
    "Force",
    "Glued",
    "Inputs",
    "Inverse",
    "Joint",
    "LinearModel",
    "Minimum",
    "Mode",
    "Model",
    "ModelError",
    "Modes",
    "OptionError",
    "Page",
    "Plan",
    "Plot",
    "Probe",
    "Results",
    "ResultsError",
    "Sensitivity",
    "Simulation",
    "SimulationError",
    "State",
    "Step",
    "Summary",
    "Sweep",
    "Symbol",
    "Verification",
    "__version__",
    "beam",
    "box",
    "cylinder",
    "example",
    "examples",
    "fit",
    "glue",
    "load",
    "load_robot",
    "loads",
    "log_normal",
    "log_uniform",
    "mesh",
    "minimize",
    "modal",
    "normal",
    "open",
    "open_study",
    "ray_executor",
    "rod",
    "section",
    "sensitivity",
    "sphere",
    "sweep",
    "t",
    "table",
    "triangular",
    "uniform",
]
