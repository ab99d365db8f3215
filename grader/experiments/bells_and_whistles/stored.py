"""Trainings over six seeds: a few run now, the others were measured before and are read from a file.

How they were measured: the script beside each file, such as `assets/data/schedule_runs/measure_schedule_runs.py`. It
calls the same functions, and `measure`.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from grader.experiments.bells_and_whistles.training import Log, climb_then, short_run
from grader.paths import asset_path

Run = dict[str, Any]
"""What a training came to: numbers, and curves if it ran just now."""

SEEDS = 6


@cache
def stored_runs(folder: str = "schedule_runs") -> dict[str, list[Run]]:
    """Return the measured trainings of a folder of `assets/data` by their keys."""
    stored: dict[str, list[Run]] = json.loads(
        asset_path("data", folder, "runs.json").read_text(encoding="utf-8")
    )
    return stored


def numbers(run: Run) -> dict[str, float]:
    """Return what the file keeps of a run: its numbers, without the curves."""
    return {name: round(value, 4) for name, value in run.items() if isinstance(value, int | float)}


def measure(trainings: Mapping[str, Callable[[int], Run]], file: Path) -> None:
    """Run each training with all seeds, on one thread, and write what the runs came to."""
    torch.set_num_threads(1)
    lines = []
    for key, train in trainings.items():
        runs = [numbers(train(seed)) for seed in range(SEEDS)]
        lines.append(f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(runs)}")
        print(key, flush=True)
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def six_seeds(key: str, run: Callable[[int], Run], *, live: int) -> list[Run]:
    """Call run(seed) for the first `live` seeds and read what the others came to; `key` names the training."""
    runs = [run(seed) for seed in range(live)] + stored_runs()[key][live:]
    assert len(runs) == SEEDS
    return runs


def summary(log: Log, val_loss: float, warmup: int) -> Run:
    """Reduce a training to a few numbers; the curves are left out of the file."""
    losses, norms = log
    early, late = norms[:warmup] or [0.0], norms[warmup:]
    return {
        "train": sum(losses[-10:]) / 10,
        "val": val_loss,
        "over_early": sum(norm > 1 for norm in early) / len(early),
        "over_late": sum(norm > 1 for norm in late) / len(late),
        "largest_early": max(early),
        "summit": norms.index(max(norms)),
        "curve": losses,
        "norms": norms,
    }


def schedule_key(shape: str, *, peak: float, warmup: int, total: int, clip_from: float = math.inf) -> str:
    """Return the name of a schedule's trainings in the file."""
    return f"{shape} peak={peak} warmup={warmup} total={total} clip_from={clip_from}"


def schedule_run(
    seed: int, shape: str, *, peak: float, warmup: int, total: int, clip_from: float = math.inf
) -> Run:
    """Train the small GPT along one schedule of `climb_then`."""
    rates = climb_then(shape, peak=peak, warmup=warmup, total=total)
    return summary(*short_run(rates, seed, clip_from=clip_from), warmup)


def schedule_runs(shape: str, *, live: int = 2, **settings: Any) -> list[Run]:
    """Return what one schedule comes to over six seeds; `settings` are those of `schedule_run`."""
    key = schedule_key(shape, **settings)
    return six_seeds(key, lambda seed: schedule_run(seed, shape, **settings), live=live)


def each(runs: Iterable[Run], what: str = "train") -> list[float]:
    """Return one value of each run."""
    return [run[what] for run in runs]


def spelled(values: Sequence[float], digits: int = 2) -> str:
    """Return the values in one line."""
    return " · ".join(f"{value:.{digits}f}" for value in values)
