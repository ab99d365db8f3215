"""Trains what lesson 06 says about Muon over six seeds and writes runs.json beside this file.

    python measure_muon_runs.py

About 4 minutes on one core of a quiet machine. The trainings are those that the lesson imports.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from grader.experiments.bells_and_whistles.stored import Run, measure
from grader.experiments.why_it_does_not_learn.muon_runs import CHOICES, PEAKS, muon_key, muon_run

RUNS = Path(__file__).resolve().parent / "runs.json"


def trainings() -> Mapping[str, Callable[[int], Run]]:
    """Return all trainings by the name under which the lesson reads them."""
    return {muon_key(choice, peak): partial(muon_run, choice, peak) for choice in CHOICES for peak in PEAKS}


if __name__ == "__main__":
    measure(trainings(), RUNS)
