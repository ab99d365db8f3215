"""Whole scripts, written without a look at the rules: the bugs of the wrong ones at their lines, and silence elsewhere.

`scripts/index.json` names the bugs of each script, each with its line; where two lines make the bug together, the
other one stands in `also`. `scripts/fixed/` holds the mended twin of each wrong script.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.xray.running import plain, watched

SCRIPTS = Path(__file__).parent / "scripts"
INDEX: list[dict[str, Any]] = (
    json.loads((SCRIPTS / "index.json").read_text(encoding="utf-8"))
    if (SCRIPTS / "index.json").is_file()
    else []
)
WRONG = [entry for entry in INDEX if entry["bugs"]]
RIGHT = [SCRIPTS / entry["file"] for entry in INDEX if not entry["bugs"]] + [
    twin for entry in WRONG if (twin := SCRIPTS / "fixed" / entry["file"]).is_file()
]
NOT_FOUND: dict[tuple[str, str], str] = {
    ("dataclass_loader.py", "augment-in-val"): "not looked into yet",
    ("grad_bank.py", "accum-leftover-dropped"): "gradients that the script gathers itself are not followed",
    ("kaggle_leaf_cnn.py", "eval-mode-not-restored"): "told at the train() before the loop, six lines above",
    ("kaggle_leaf_cnn.py", "softmax-before-ce"): "told at the softmax in the model, not at the loss",
    ("virtual_workers.py", "ddp-sum-not-mean"): "not looked into yet",
    ("hf_trainer_intent.py", "softmax-before-ce"): "told at the softmax, three lines above the loss",
    ("accum_trainer.py", "never-back-to-train-mode"): "told where training goes on, 21 lines above",
    ("fraud_oversample.py", "oversample-before-split"): "the rows are no batches of a loader",
    (
        "swa_convnet.py",
        "average-without-batchnorm-buffers",
    ): "averaged after the watch",
    ("load_forecast_closures.py", "val-own-stats"): "two series, each with its own statistics: not watched",
    ("transfer_head_swap.py", "frozen-bn-in-train"): "its running statistics are not watched",
    ("grow_tower.py", "optimizer-before-new-layer"): "layers that a callback appends",
}
"""(file, id) of bugs that are not found yet -> why not."""
IN_OTHER_PROCESSES = ("ddp_two_processes.py",)
"""Scripts that train in processes of their own, which are not watched: xray says so, and ends with status 2."""
MAKES_NEW_PARAMETERS = ("functional_momentum.py",)
"""Here an update makes new tensors in the place of the parameters (`torch.func`): none is seen, and that is told."""
_NEAR = 2
_EVERY = 15
"""The full run looks at every fifteenth script, `pytest -m by_command` at the others."""


def _some(scripts: list[Any]) -> list[Any]:
    others = (pytest.mark.full, pytest.mark.by_command)
    return [
        pytest.param(one, marks=others if number % _EVERY else (pytest.mark.full,))
        for number, one in enumerate(scripts)
    ]


@pytest.mark.parametrize("entry", _some(WRONG), ids=lambda entry: entry["file"])
def test_bugs_are_found_at_their_lines(entry: dict[str, Any]) -> None:
    ran = watched(SCRIPTS / entry["file"])
    for bug in entry["bugs"]:
        lines = [bug["line"], *bug.get("also", [])]
        near = any(abs(line - right) <= _NEAR for _, line in ran.ids for right in lines)
        assert near != ((entry["file"], bug["id"]) in NOT_FOUND), (bug["id"], bug["line"], ran.ids)


@pytest.mark.parametrize("script", _some(RIGHT), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_right_scripts_are_not_called_wrong_and_print_the_same(script: Path) -> None:
    ran = watched(script)
    assert not [one for one in ran.found["findings"] if one["severity"] == "bug"]
    assert ran.status == (2 if script.name in (*IN_OTHER_PROCESSES, *MAKES_NEW_PARAMETERS) else 0)
    assert not ran.found["observer_failures"]
    assert ran.output == plain(script).output
