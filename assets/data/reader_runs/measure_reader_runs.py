"""Trains the reader of lesson 04, section 8.4, over settings and seeds and writes runs.json beside this file.

    python measure_reader_runs.py

About 10 minutes on one core of a quiet machine; trainings that runs.json holds already are not repeated. First AdamW
and SAM are tuned over as many settings each, by the lowest dev loss of seed 0; then the best of each is trained with
four other seeds, and AdamW once more for twice as many epochs, which costs about what SAM does. Model, training and
scores are the lesson's own cells, run from its notebook.
"""

import ast
import json
import time
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RUNS = HERE / "runs.json"
NOTEBOOK = HERE.parents[2] / "lessons" / "04_sam_accumulation.ipynb"

NEEDED = {"flat", "VectorSAM", "load_examples", "Reader", "exact_match", "find_answers"}
NEEDED |= {"update_reader", "train_reader"}
"""What the cells that are run define, one of these each."""

EPOCHS = 3
RATES = (1.5e-3, 3e-3)
GRID = {
    "AdamW": [{"rho": 0.0, "lr": lr, "weight_decay": decay} for lr, decay in product(RATES, (0.01, 0.3))],
    "SAM": [{"rho": rho, "lr": lr, "weight_decay": 0.01} for lr, rho in product(RATES, (0.05, 0.1))],
}
SEEDS = (1, 2, 3, 4)

Run = dict[str, Any]


def lesson(notebook: Path = NOTEBOOK) -> dict[str, Any]:
    """The names that the needed cells define."""
    names: dict[str, Any] = {"__name__": "lesson", "clock": time.process_time}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code" or source.startswith("%"):
            continue
        if {getattr(node, "name", None) for node in ast.parse(source).body} & NEEDED:
            exec(compile(source, str(notebook), "exec"), names)
    return names


def trained(names: dict[str, Any], *, epochs: int, seed: int, **setting: float) -> dict[str, float]:
    """One training: losses, EM and F1 (per question and per fact) after the epoch with the lowest dev loss."""
    model, history = names["train_reader"](epochs=epochs, seed=seed, **setting)
    result: dict[str, float] = {"train_loss": history[-1][0], "seconds": history[-1][-1]}
    for split in ("dev", "test"):
        found, result[f"{split}_loss"] = names["find_answers"](model, names[f"{split}_set"])
        result[f"{split}_em"], result[f"{split}_f1"] = names["score_pairs"](found)
        result[f"{split}_fact_em"], result[f"{split}_fact_f1"] = names["score_facts"](found)
    return {name: round(value, 3) for name, value in result.items()}


def measure(names: dict[str, Any], runs: list[Run]) -> None:
    """Add to `runs`, and to the file after each, the trainings that it lacks."""

    def run(method: str, seed: int, setting: dict[str, float], epochs: int = EPOCHS) -> Run:
        asked: Run = {"method": method, "epochs": epochs, "seed": seed, **setting}
        for known in runs:
            if asked.items() <= known.items():
                return known
        runs.append({**asked, **trained(names, epochs=epochs, seed=seed, **setting)})
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
    measure(lesson(), json.loads(RUNS.read_text(encoding="utf-8")) if RUNS.exists() else [])
