"""Trains the reader of lesson 04 over settings and seeds and writes runs.json beside this file.

    python measure_reader_runs.py

About 10 minutes on one core of a quiet machine; trainings that runs.json holds already are not repeated. First AdamW
and SAM are tuned over as many settings each, by the lowest dev loss of seed 0; then the best of each is trained with
four other seeds, and AdamW once more for twice as many epochs, which costs about what SAM does. Model, training and
scores are those that the lesson imports.
"""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from grader.experiments.sam_accumulation.answers import find_answers, score_facts, score_pairs
from grader.experiments.sam_accumulation.passages import Example, dev_set, test_set
from grader.experiments.sam_accumulation.reading_runs import reader_rise, train_reader

HERE = Path(__file__).resolve().parent
RUNS = HERE / "runs.json"

EPOCHS = 3
RATES = (1.5e-3, 3e-3)
GRID = {
    "AdamW": [{"rho": 0.0, "lr": lr, "weight_decay": decay} for lr, decay in product(RATES, (0.01, 0.3))],
    "SAM": [{"rho": rho, "lr": lr, "weight_decay": 0.01} for lr, rho in product(RATES, (0.05, 0.1))],
}
SEEDS = (1, 2, 3, 4)

Run = dict[str, Any]


def trained(
    *,
    epochs: int,
    seed: int,
    dev: Sequence[Example] = dev_set,
    test: Sequence[Example] = test_set,
    **setting: float,
) -> Run:
    """One training: what each epoch came to, and of the epoch with the lowest dev loss its scores and sharpness.

    EM and F1 are per question and per fact; `one_step` and `ten_steps` are the rises of the training loss.
    """
    model, history = train_reader(epochs=epochs, seed=seed, **setting)
    result = {"train_loss": history[-1].train_loss, "seconds": history[-1].seconds}
    result["one_step"], result["ten_steps"] = reader_rise(model, 0.1, 1), reader_rise(model, 0.3, 10)
    for split, examples in (("dev", dev), ("test", test)):
        found, result[f"{split}_loss"] = find_answers(model, examples)
        result[f"{split}_em"], result[f"{split}_f1"] = score_pairs(found)
        result[f"{split}_fact_em"], result[f"{split}_fact_f1"] = score_facts(found)
    log = [[round(value, 3) for value in epoch] for epoch in history]
    return {**{name: round(value, 3) for name, value in result.items()}, "log": log}


def measure(runs: list[Run]) -> None:
    """Add to `runs`, and to the file after each, the trainings that it lacks."""

    def run(method: str, seed: int, setting: dict[str, float], epochs: int = EPOCHS) -> Run:
        asked: Run = {"method": method, "epochs": epochs, "seed": seed, **setting}
        for known in runs:
            if asked.items() <= known.items():
                return known
        runs.append({**asked, **trained(epochs=epochs, seed=seed, **setting)})
        lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in runs)
        RUNS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        return runs[-1]

    for method, settings in GRID.items():
        best = min(settings, key=lambda setting: float(run(method, 0, setting)["dev_loss"]))
        for seed in SEEDS:
            run(method, seed, best)
        if method == "AdamW":
            twice = best
    for seed in SEEDS:
        run("AdamW", seed, twice, 2 * EPOCHS)


if __name__ == "__main__":
    measure(json.loads(RUNS.read_text(encoding="utf-8")) if RUNS.exists() else [])
