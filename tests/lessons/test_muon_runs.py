"""The trainings that lesson 06 reads about Muon: all of them and no others are measured by a script, over six seeds."""

import json
import sys
from typing import Any

import pytest

from grader.experiments.bells_and_whistles.stored import SEEDS, numbers
from grader.experiments.why_it_does_not_learn.muon_runs import PEAKS, muon_key
from tests.places import ROOT

FOLDER = ROOT / "assets" / "data" / "muon_runs"
RUNS = json.loads((FOLDER / "runs.json").read_text(encoding="utf-8"))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that measures them."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(FOLDER)
    import measure_muon_runs

    return measure_muon_runs


def test_the_script_measures_what_the_file_holds(script: Any) -> None:
    assert set(script.trainings()) == set(RUNS)
    assert all(len(runs) == SEEDS for runs in RUNS.values())


def test_a_training_comes_to_what_the_file_says(script: Any) -> None:
    """One is trained again: code that changes what is measured shows here."""
    key = muon_key("블록의 행렬을 Muon에", PEAKS[1])
    measured, kept = numbers(script.trainings()[key](0)), RUNS[key][0]
    assert measured == pytest.approx(kept, rel=0.05)
