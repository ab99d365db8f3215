"""Trains what lesson 06 says about Muon over six seeds and writes runs.json beside this file.

    python measure_muon_runs.py

About 4 minutes on one core of a quiet machine. The trainings are those that the lesson imports.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import torch

from grader.experiments.bells_and_whistles.stored import SEEDS, Run
from grader.experiments.why_it_does_not_learn.muon_runs import CHOICES, PEAKS, muon_key, muon_run

RUNS = Path(__file__).resolve().parent / "runs.json"


def trainings() -> Mapping[str, Callable[[int], Run]]:
    """Return all trainings by the name under which the lesson reads them."""
    return {muon_key(choice, peak): partial(muon_run, choice, peak) for choice in CHOICES for peak in PEAKS}


def numbers(run: Run) -> dict[str, float]:
    """Return what the file keeps of a run."""
    return {name: round(value, 4) for name, value in run.items()}


def measure() -> None:
    """Train all and write the file."""
    torch.set_num_threads(1)
    lines = []
    for key, train in trainings().items():
        runs = [numbers(train(seed)) for seed in range(SEEDS)]
        lines.append(f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(runs)}")
        print(key, flush=True)
    RUNS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    measure()
