"""A function whose lines stand below it, not indented: said as what it is, not as an answer that is not begun."""

from pathlib import Path

import pytest

from grader.submission.source_file import read_source
from grader.submission.syntax import top_level
from grader.submission.unindented import unindented_line

STEP = 'def train_step(model, opt, loss_fn, xb, yb):\n    """한 스텝."""\n'
LINES = "opt.zero_grad()\nloss = loss_fn(model(xb), yb)\nloss.backward()\nopt.step()\n"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (STEP + LINES, 3),
        (STEP + "    raise NotImplementedError\n\n" + LINES, 5),
        (STEP + "print('x')\n" + LINES, 4),
        (STEP, None),
        (STEP + "".join(f"    {line}\n" for line in LINES.splitlines()), None),
        (STEP + "model = 1\nopt = model\nprint(opt, model)\n", None),  # the script's own names
        (STEP + "train_step(model, opt, loss_fn, xb, yb)\n", None),  # a call of the starter
        (STEP + "def other(opt):\n    pass\n" + LINES, None),  # whose lines they are is not known
        ("class train_step:\n    def f(self, opt): ...\n" + LINES, None),
        ("def train_step(:\n" + LINES, None),
    ],
)
def test_unindented_line(source: str, line: int | None) -> None:
    found = unindented_line(top_level(source), "train_step")
    assert (found and found.line) == line


def test_file_complains_of_it(tmp_path: Path) -> None:
    path = tmp_path / "answer.py"
    path.write_text(STEP + LINES, encoding="utf-8")
    source = read_source(path, "answer.py", ["train_step"])
    complaint = source.complaint("train_step")
    assert complaint is not None
    assert complaint.place.line == 3
    assert complaint.shown == "opt.zero_grad()"
    assert "3번째 줄부터" in complaint.message
