"""The experiments that lessons import: a notebook's first cell must not make a learner wait for them."""

import subprocess
import sys
from pathlib import Path

import pytest

from grader.experiments.sam_accumulation.fits import fit_digits
from grader.experiments.sam_accumulation.vectors import flat
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


def test_models_trained_side_by_side_do_not_mix() -> None:
    """Lesson 04 trains a model for each seed at once: each comes out as if it had been trained alone."""
    data = {"epochs": 2, "count": 60, "noise": 0.2, "batch_size": 20, "rho": 0.2, "decay": 0.01}
    together, (alone,) = fit_digits([0, 1], **data), fit_digits([1], **data)  # type: ignore[arg-type]
    other, same = (flat(fitted.model.parameters()) for fitted in together)
    expected = flat(alone.model.parameters())
    assert (same - expected).norm() < 1e-5 < (other - expected).norm()
    assert abs(together[1].test_accuracy - alone.test_accuracy) < 0.1
