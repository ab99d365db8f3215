"""The experiments that lessons import: a notebook's first cell must not make a learner wait for them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

EXPERIMENTS = sorted((ROOT / "grader" / "experiments").rglob("*.py"))
HEAVY = ("sklearn", "matplotlib", "transformers", "lightning", "accelerate")
"""They take a second or more to import; experiments import them where they are needed."""


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_experiments_import_nothing_heavy_but_torch(path: Path) -> None:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    asked = f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=ROOT)
    assert said.stdout.strip() == "[]"
