"""Names of elements, and symbols that stand for numbers in expressions."""

from __future__ import annotations


class Body(str):
    """The name of a body: what `Model.body` gives, for joints and forces to stand on."""

    __slots__ = ()


class Joint(str):
    """The name of a joint: what `Model.joint.*` gives, for drives, couplings and starts."""

    __slots__ = ()


class Force(str):
    """The name of a force."""

    __slots__ = ()


class Probe(str):
    """The name of a probe."""

    __slots__ = ()


#: The fixed world, in the place of a body.
GROUND = Body("ground")


class Symbol:
    """A parameter, an input or an expression of them, which stays one in the model and in its file.

    >>> k = Symbol("k")
    >>> (2 * k + 1).expression
    '((2) * (k)) + (1)'
    >>> k.sin()
    Symbol('sin(k)')

    NumPy's functions work on them too: `numpy.sin(k)`.
    """

    __slots__ = ("expression",)

    def __init__(self, expression: str) -> None:
        #: The text of the expression.
        self.expression = str(expression)

    def __repr__(self) -> str:
        return f"Symbol({self.expression!r})"

    def __str__(self) -> str:
        return self.expression

    def __add__(self, other: object) -> Symbol:
        return _join(self, "+", other)

    def __radd__(self, other: object) -> Symbol:
        return _join(other, "+", self)

    def __sub__(self, other: object) -> Symbol:
        return _join(self, "-", other)

    def __rsub__(self, other: object) -> Symbol:
        return _join(other, "-", self)

    def __mul__(self, other: object) -> Symbol:
        return _join(self, "*", other)

    def __rmul__(self, other: object) -> Symbol:
        return _join(other, "*", self)

    def __truediv__(self, other: object) -> Symbol:
        return _join(self, "/", other)

    def __rtruediv__(self, other: object) -> Symbol:
        return _join(other, "/", self)

    def __pow__(self, other: object) -> Symbol:
        return _join(self, "^", other)

    def __rpow__(self, other: object) -> Symbol:
        return _join(other, "^", self)

    def __neg__(self) -> Symbol:
        return Symbol(f"-({self.expression})")

    def __pos__(self) -> Symbol:
        return self

    def apply(self, function: str) -> Symbol:
        """A function of expressions applied to this one: `t.apply("sin")`."""
        return Symbol(f"{function}({self.expression})")

    def sin(self) -> Symbol:
        """The sine."""
        return self.apply("sin")

    def cos(self) -> Symbol:
        """The cosine."""
        return self.apply("cos")

    def tan(self) -> Symbol:
        """The tangent."""
        return self.apply("tan")

    def exp(self) -> Symbol:
        """The exponential function."""
        return self.apply("exp")

    def log(self) -> Symbol:
        """The natural logarithm."""
        return self.apply("log")

    def sqrt(self) -> Symbol:
        """The square root."""
        return self.apply("sqrt")

    def tanh(self) -> Symbol:
        """The hyperbolic tangent."""
        return self.apply("tanh")


def _join(left: object, operator: str, right: object) -> Symbol:
    def text(value: object) -> str:
        if isinstance(value, Symbol):
            return value.expression
        if isinstance(value, int) or not hasattr(value, "__float__"):
            return str(value)
        return repr(float(value))

    return Symbol(f"({text(left)}) {operator} ({text(right)})")


#: Time, in s.
t = Symbol("t")
