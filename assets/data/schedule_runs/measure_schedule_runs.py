"""Trains what lesson 03 compares over six seeds and writes runs.json beside this file.

    python measure_schedule_runs.py

About 12 minutes on one core of a quiet machine. The trainings are those that the lesson imports.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from grader.experiments.bells_and_whistles.clauses import clause_run
from grader.experiments.bells_and_whistles.curvature import curvature_run
from grader.experiments.bells_and_whistles.outliers import PROGRAMS, memory_run, rogue_run
from grader.experiments.bells_and_whistles.schedules import fill_only, move_only, stranded
from grader.experiments.bells_and_whistles.stored import Run, measure, schedule_key, schedule_run
from grader.experiments.bells_and_whistles.training import climb_then
from grader.experiments.bells_and_whistles.weight_decay import decay_run

RUNS = Path(__file__).resolve().parent / "runs.json"

Training = Callable[[int], Run]


def schedules() -> dict[str, Training]:
    """Return the trainings that differ in peak, warm-up, shape, length and clipping only."""
    asked = [
        *(
            ("상수", peak, warmup, 100, clip)
            for peak in (0.001, 0.003, 0.006)
            for warmup in (0, 40)
            for clip in (math.inf, 0)
        ),
        *(
            (shape, peak, 40, 180, 0)
            for peak in (0.001, 0.002, 0.005, 0.01)
            for shape in ("상수", "코사인", "직선")
        ),
        *(("상수", peak, 20, 100, start) for peak in (0.01, 0.003) for start in (20, 0)),
        ("WSD", 0.01, 40, 180, 0),
        *((shape, 0.01, 40, 260, 0) for shape in ("코사인", "WSD")),
    ]
    found: dict[str, Training] = {}
    for shape, peak, warmup, total, clip_from in asked:
        settings = {"peak": peak, "warmup": warmup, "total": total, "clip_from": clip_from}
        found[schedule_key(shape, **settings)] = partial(schedule_run, shape=shape, **settings)
    return found


def trainings() -> Mapping[str, Training]:
    """Return all trainings by the name under which the lesson reads them."""
    found = schedules()
    found |= {"fill_only": fill_only, "move_only": move_only, "코사인 180스텝 뒤에 바닥 80스텝": stranded}
    for peak, warmup in [(0.006, 0), (0.006, 40), (0.003, 0)]:
        rates = climb_then("상수", peak=peak, warmup=warmup, total=100)
        found[f"curvature peak={peak} warmup={warmup}"] = partial(curvature_run, rates)
    found |= {f"rogue {name}": partial(rogue_run, name) for name in PROGRAMS}
    found |= {f"memory beta2={beta2}": partial(memory_run, beta2) for beta2 in (0.999, 0.95)}
    for weight_decay, split in [(0.0, False), (0.1, False), (0.1, True), (1.0, False), (1.0, True)]:
        found[f"decay {weight_decay} split={split}"] = partial(decay_run, weight_decay, split)
    found |= {f"clauses by_tokens={by_tokens}": partial(clause_run, by_tokens) for by_tokens in (True, False)}
    return found


if __name__ == "__main__":
    measure(trainings(), RUNS)
