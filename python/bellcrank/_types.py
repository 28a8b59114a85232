"""What the fields of elements take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from ._names import Symbol

#: A number, or an expression of parameters.
Scalar = Union[float, str, Symbol]
#: Keys and values of a table inside an element: what `rod(...)`, `box(...)` and their like give.
Table = Mapping[str, Any]
#: A function of time and inputs: an expression, or a table of numbers from a file.
Course = Union[Scalar, Table]
#: Two components in the plane, three in space.
Vector = Union[Sequence[Scalar], NDArray[Any]]
#: A vector of functions of time.
Vectors = Union[Sequence[Course], Table]
#: One point or direction, or several.
Points = Union[Vector, Sequence[Vector]]
#: One number or several.
Numbers = Union[Scalar, Sequence[Scalar], NDArray[Any]]
#: Rows of two numbers, or a table of them from a file.
Pairs = Union[Sequence[Sequence[float]], NDArray[Any], Table]
#: A square matrix, its diagonal, or its one number.
Matrix = Union[Scalar, Sequence[Scalar], Sequence[Sequence[Scalar]], NDArray[Any]]
#: A word or a name.
Text = Union[str, Sequence[str]]
#: Names of bodies or joints.
Names = Sequence[str]
#: Who is told the progress of a run.
Progress = Union[bool, Callable[[float], object], None]
#: Numbers as they come out.
Array = NDArray[np.float64]
