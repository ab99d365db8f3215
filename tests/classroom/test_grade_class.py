"""The process that hands out a class: ready at once, because it imports no torch; and what it has sandboxes import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from grader.classroom import grade_class
from grader.submission.submission import read_submission

WRONG = """
def train_step(model, opt, loss_fn, xb, yb):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss
"""
GRADED = """
import sys
from grader.cli.main import main
sys.argv = ["grader", "grade", sys.argv[1], "--out", sys.argv[2], "--sandbox", "none", "--lesson", "01"]
try:
    main()
except SystemExit as end:
    assert end.code in (0, None), end.code
print("torch" in sys.modules)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a class is graded where processes fork")
@pytest.mark.skipif(
    torch.version.cuda is not None or torch.version.hip is not None, reason="torch is asked for a GPU"
)
def test_a_class_is_graded_without_torch_in_the_process_that_hands_it_out(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.py").write_text(WRONG, encoding="utf-8")
    command = [sys.executable, "-c", GRADED, str(tmp_path / "class"), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False"
    page = (tmp_path / "out" / "feedback" / "a.html").read_text(encoding="utf-8")
    assert "zero_grad" in page, "with a diagnosis, which has crossed from a worker"


@pytest.mark.parametrize(
    ("text", "ahead"),
    [
        ("import torch", ()),
        ("from matplotlib import pyplot as plt", ("matplotlib.pyplot",)),
        (
            "from torch.utils.data import DataLoader\nimport sklearn.datasets",
            ("sklearn.datasets", "torch.utils.data"),
        ),
        ("import antigravity", ()),
    ],
)
def test_sandboxes_import_ahead_what_some_submission_mentions_of_a_fixed_list(
    text: str, ahead: tuple[str, ...], tmp_path: Path
) -> None:
    handed_in = []
    for name, content in {"a": "x = 1", "b": text}.items():
        (tmp_path / f"{name}.py").write_text(content, encoding="utf-8")
        handed_in.append(read_submission(tmp_path / f"{name}.py", ()))
    assert grade_class._modules_to_preimport(handed_in) == ahead
