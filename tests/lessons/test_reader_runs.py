"""The trainings that lesson 04 reads: fairly tuned, four seeds each, measured by a script that runs."""

import json
import sys
from typing import Any

import pytest

from grader.experiments.sam_accumulation import passages, reading_runs
from tests.places import ROOT

FOLDER = ROOT / "assets" / "data" / "reader_runs"
RUNS: list[dict[str, Any]] = json.loads((FOLDER / "runs.json").read_text(encoding="utf-8"))
SETTING = ("rho", "lr", "weight_decay")


@pytest.fixture(scope="module")
def script() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        import measure_reader_runs
    finally:
        sys.path.remove(str(FOLDER))
    return measure_reader_runs


def setting(run: dict[str, Any]) -> tuple[float, ...]:
    return tuple(run[knob] for knob in SETTING)


def test_both_are_tuned_alike_and_then_judged_by_other_seeds() -> None:
    for method in ("AdamW", "SAM"):
        tuning = [run for run in RUNS if run["method"] == method and run["seed"] == 0]
        assert len({setting(run) for run in tuning}) == len(tuning) == 4
        best = setting(min(tuning, key=lambda run: run["dev_loss"]))
        for epochs in (3, 6) if method == "AdamW" else (3,):
            seeds = [
                run for run in RUNS if (run["method"], run["epochs"]) == (method, epochs) and run["seed"]
            ]
            assert [run["seed"] for run in seeds] == [1, 2, 3, 4]
            assert {setting(run) for run in seeds} == {best}


def test_nothing_is_left_to_measure(script: Any) -> None:
    """The script asks for what the file holds, no more and no less: its settings are the file's."""
    runs = list(RUNS)
    script.measure(runs)
    assert len(runs) == 8 + 3 * 4


def test_the_command_trains_and_scores(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On few questions, for time."""
    told = f"학습 질문 {len(passages.train_set):,}개, 검증 {len(passages.dev_set)}개, 시험 {len(passages.test_set)}개"
    assert told in (FOLDER / "README.md").read_text(encoding="utf-8")  # measured with the data of today
    for split in ("train_set", "dev_set"):
        monkeypatch.setattr(reading_runs, split, getattr(passages, split)[:32])
    few = {"dev": passages.dev_set[:32], "test": passages.test_set[:32]}
    found = script.trained(epochs=1, seed=1, rho=0.1, lr=3e-3, weight_decay=0.01, **few)
    asked = {"method", "epochs", "seed", *SETTING}
    assert all(set(run) == asked | set(found) for run in RUNS)
    assert 0 <= found["test_fact_em"] <= found["test_fact_f1"] <= 100
