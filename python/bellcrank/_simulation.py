"""Simulations that are stepped from outside."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, NamedTuple

from . import _bellcrank
from ._bellcrank import State
from ._reports import Event

if TYPE_CHECKING:
    from ._model import Model
    from ._types import Array


class Step(NamedTuple):
    """One accepted step, or the part of it up to an event."""

    #: Where it began and ended, in s.
    start: float
    end: float
    #: How many events there were at its end.
    events: int


class Inputs(MutableMapping[str, float]):
    """The inputs of a simulation by name; what is set holds from now on."""

    __slots__ = ("_core",)

    def __init__(self, core: _bellcrank.Simulation) -> None:
        self._core = core

    def __getitem__(self, name: str) -> float:
        return self._core.get_input(name)

    def __setitem__(self, name: str, value: float) -> None:
        self._core.set_input(name, value)

    def __delitem__(self, name: str) -> None:
        raise TypeError("inputs cannot be removed while a simulation goes on")

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.input_names())

    def __len__(self) -> int:
        return len(self._core.input_names())

    def __repr__(self) -> str:
        return repr(dict(self))


class Simulation:
    """A machine on its way through time: a controller, another simulator or an environment drives it.

    >>> import bellcrank as bc
    >>> s = bc.example("pendulum").simulate()
    >>> s.advance_to(0.5)
    0.5
    >>> before = s.state
    >>> x = s.value("bar.x"), s.advance_to(1.0)
    >>> s.state = before
    >>> s.time
    0.5
    """

    __slots__ = ("__weakref__", "_core", "input")

    def __init__(self, core: _bellcrank.Simulation) -> None:
        self._core = core
        #: The inputs by name: `s.input["torque"] = 3.0`.
        self.input = Inputs(core)

    def __repr__(self) -> str:
        return f"<Simulation at t = {self.time} of {self.until} s>"

    @property
    def time(self) -> float:
        """The present time, in s."""
        return self._core.time

    @property
    def until(self) -> float:
        """The end of the run, in s; `advance_to` may go beyond it."""
        return self._core.until

    def step(self) -> Step | None:
        """Takes one step as a run would; None at the end of the run."""
        taken = self._core.step()
        return None if taken is None else Step(*taken)

    def advance_to(self, t: float) -> float:
        """Goes on to a time, events on the way included, and gives the time that was reached."""
        return self._core.advance_to(t)

    def value(self, channel: str) -> float:
        """The present value of a channel."""
        return self._core.value(channel)

    def values(self, *channels: str) -> Array:
        """The present values of several channels."""
        return self._core.values(list(channels))

    @property
    def channels(self) -> dict[str, str]:
        """All channels with their units."""
        return dict(self._core.channels())

    @property
    def events(self) -> list[Event]:
        """What happened so far."""
        return [Event(*event) for event in self._core.events()]

    @property
    def state(self) -> State:
        """All that the run needs to go on from here, to the bit; assign it to go back. It can be pickled.

        So that it goes on to the bit, the method begins anew where its state is taken.
        """
        return self._core.save()

    @state.setter
    def state(self, state: State) -> None:
        self._core.restore(state)

    def exchange(self, model: Model) -> None:
        """Goes on with a model of the same bodies, joints and forces whose parameters are others."""
        self._core.exchange(model._core)

    def accelerations(self) -> Array:
        """The accelerations v̇ of all coordinates at the present state."""
        return self._core.accelerations()

    def reactions(self) -> Array:
        """The multipliers λ, one for each row of `constraint_jacobian`; of least size where they are not unique."""
        return self._core.reactions()

    def mass_matrix(self) -> Array:
        """The mass matrix M(q), in the order of the velocities."""
        return self._core.mass_matrix()

    def constraint_jacobian(self) -> Array:
        """The Jacobian G of the constraints: G v + g_t = 0."""
        return self._core.constraint_jacobian()

    def inverse_dynamics(self, accelerations: Array) -> Array:
        """The loads M v̇ − f that accelerations take at the present state, beyond all forces of the model."""
        return self._core.required_forces(accelerations)
