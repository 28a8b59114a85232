"""The part of Bellcrank's model files that the problems of `bellcrank bench` use, read for other programs."""
import json
import math
import re
import sys

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    from pip._vendor import tomli as tomllib


class Machine:
    """Bodies, joints and forces with their numbers worked out."""

    def __init__(self, text):
        tables = tomllib.loads(text)
        self.names = {k: getattr(math, k) for k in ("pi", "sqrt", "sin", "cos", "asin")}
        for name, value in tables.get("parameter", {}).items():
            self.names[name] = self.number(value)
        self.plane = "plane" in tables["model"]
        self.gravity = self.vector(tables["model"].get("gravity", [0, 0, 0]))
        self.bodies = tables["body"]
        self.joints = tables.get("joint", {})
        self.forces = tables.get("force", {})
        self.probes = tables.get("probe", {})

    def number(self, value):
        if isinstance(value, str):
            return float(eval(re.sub(r"\^", "**", value), {"__builtins__": {}}, self.names))
        return float(value)

    def vector(self, values):
        out = [self.number(x) for x in values]
        return out + [0.0] * (3 - len(out))

    def get(self, table, key, default=0.0):
        return self.number(table.get(key, default))


def serve(solve):
    """Answers every problem, a line of JSON each, with a line of JSON: processor seconds and the values watched."""
    for line in sys.stdin:
        try:
            answer = solve(json.loads(line))
        except Exception as e:  # one figure less, and the reason for it
            answer = {"error": " ".join(f"{type(e).__name__}: {e}".split())[:200]}
        print("@" + json.dumps(answer), flush=True)
