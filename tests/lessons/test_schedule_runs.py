"""The trainings that lesson 03 reads: all of them and no others are measured by a script, over six seeds each."""

import json
import sys
from typing import Any

import pytest

from grader.experiments.bells_and_whistles import stored
from tests.places import ROOT

FOLDER = ROOT / "assets" / "data" / "schedule_runs"
RUNS = json.loads((FOLDER / "runs.json").read_text(encoding="utf-8"))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that measures them."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(FOLDER)
    import measure_schedule_runs

    return measure_schedule_runs


def test_the_script_measures_what_the_file_holds(script: Any) -> None:
    assert set(script.trainings()) == set(RUNS)
    assert all(len(runs) == stored.SEEDS for runs in RUNS.values())


def test_a_training_comes_to_what_the_file_says(script: Any) -> None:
    """One of the quick ones is trained again: code that changes what is measured shows here."""
    key = "상수 peak=0.003 warmup=20 total=100 clip_from=0"
    measured, kept = stored.numbers(script.trainings()[key](0)), RUNS[key][0]
    assert measured == pytest.approx(kept, rel=0.05)
