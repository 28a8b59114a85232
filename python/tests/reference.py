"""The reference of the Python package as a page, from its signatures and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import bellcrank as bc
from bellcrank import _model

HEAD = """# Reference of the Python package

Made from the docstrings by `UPDATE=1 target/python/bin/python -m pytest -k reference`; their examples run in the tests. A tutorial
is in the page on Python of the book. Quantities are in SI units.
"""


def signature(name: str, thing: Any) -> str:
    """How it is called, without `self`; long ones have one argument on each line."""
    found = inspect.signature(thing)
    parameters = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    plain = str(found.replace(parameters=parameters))
    # annotations are texts: those with quotes inside stand in double ones
    plain = re.sub(r"(: |-> )(?:'([^']*)'|\"([^\"]*)\")", r"\1\2\3", plain).replace(" -> None", "")
    if len(name + plain) <= 110:
        return name + plain
    inside, _, after = plain[1:].rpartition(")")
    depth, lines, line = 0, [], ""
    for c in inside:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            lines.append(f"    {line.strip()},")
            line = ""
        else:
            line += c
    return "\n".join([f"{name}(", *lines, f"    {line.strip()},", f"){after}"])


def text(thing: Any) -> str:
    """Its docstring; what runs stands in a block of its own."""
    lines = inspect.cleandoc(thing.__doc__ or "").splitlines()
    out, inside = [], False
    for line in lines:
        starts = line.startswith(">>>")
        if starts and not inside:
            out.append("```pycon")
            inside = True
        elif inside and not line:
            out.append("```")
            inside = False
        # arguments are a list
        if not inside and re.match(r"\w+: \S", line):
            line = re.sub(r"^(\w+): ", r"- `\1`: ", line)
        out.append(line)
    return "\n".join([*out, "```"] if inside else out)


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class and its bases in this package define, in the order of the source."""
    seen = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("bellcrank"):
            continue
        for name, thing in vars(base).items():
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, thing


def described(cls: type) -> Iterator[str]:
    """A class with its methods and properties."""
    fields = getattr(cls, "_fields", None)
    if dataclasses.is_dataclass(cls):
        fields = tuple(field.name for field in dataclasses.fields(cls))
    yield f"\n## `{cls.__name__}`\n\n{text(cls)}"
    if fields:
        yield "\nFields: " + ", ".join(f"`{field}`" for field in fields) + "."
    elif "__init__" in vars(cls) and not issubclass(cls, (str, Exception)) and vars(cls)["__init__"].__doc__:
        yield f"\n```python\n{signature(cls.__name__, cls.__init__)}\n```\n\n{text(vars(cls)['__init__'])}"
    for name, thing in members(cls):
        if isinstance(thing, property):
            yield f"\n### `{cls.__name__}.{name}`\n\n{text(thing)}"
        elif inspect.isfunction(thing):
            yield f"\n### `{cls.__name__}.{name}`\n\n```python\n{signature(name, thing)}\n```\n\n{text(thing)}"
        elif type(thing).__name__ == "cached_property":
            yield f"\n### `{cls.__name__}.{name}`\n\n{text(thing)}"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    things = [(name, getattr(bc, name)) for name in bc.__all__]
    functions = [(name, thing) for name, thing in things if inspect.isfunction(thing)]
    classes = [thing for _, thing in things if inspect.isclass(thing)]
    parts.append("\n## Functions")
    for name, thing in functions:
        parts.append(f"\n### `{name}`\n\n```python\n{signature(name, thing)}\n```\n\n{text(thing)}")
    first = [bc.Model, _model.JointKinds, _model.ForceKinds, bc.Results, bc.Simulation, bc.Equations]
    for cls in [*first, *(cls for cls in classes if cls not in first)]:
        parts.extend(described(cls))
    return "\n".join(parts).rstrip() + "\n"
