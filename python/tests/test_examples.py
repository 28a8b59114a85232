"""Every example runs, and every block of Python in the book and in README does."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import bellcrank as bc
import pytest
import reference

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))
NEEDS = {
    "identify.py": "scipy",
    "tune_suspension.py": "scipy",
    "swing_test.py": "scipy",
    "coupler_curve.py": "scipy",
    "robot_inertias.py": "scipy",
    "controller.py": "control",
    "tables.py": "pandas",
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    needed = NEEDS.get(path.name)
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(path.parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    line = [sys.executable, str(path)]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "examples" / "python" / "tour.ipynb").read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "tour"}
    for cell in notebook["cells"]:
        assert not cell.get("outputs"), "the notebook is stored without outputs"
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "tour.ipynb", "exec"), names)


PAGES = [p for p in sorted((ROOT / "book" / "src").rglob("*.md")) if "```python\n" in p.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_the_book_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks
    names: dict[str, object] = {"__name__": "book"}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)


def test_the_block_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_the_reference_is_that_of_the_docstrings() -> None:
    path = ROOT / "docs" / "python.md"
    text = reference.page()
    if os.environ.get("UPDATE"):
        path.write_text(text, encoding="utf-8")
    for name in bc.__all__:
        assert name in text or name in ("t", "GROUND", "__version__"), f"{name} is not in the reference"
    if sys.version_info[:2] == (3, 11):  # others write some signatures otherwise
        assert path.read_text(encoding="utf-8") == text, "UPDATE=1 pytest -k reference writes docs/python.md anew"
