"""A misspelt command is answered before torch, which takes seconds, is imported."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

TORCH_IMPORTED = 100
RUN = f"""
import sys
from grader.cli.main import run
status = run(sys.argv[1:])
sys.exit({TORCH_IMPORTED} if "torch" in sys.modules else status)
"""

MISTYPED = [
    ("chekc", "혹시 check인가요?"),
    ("next --foo", "없는 옵션이에요: --foo"),
    ("check nosuch.ipynb", "파일이 없어요: nosuch.ipynb"),
    ("check . --exercise train_step", "폴더예요: ."),
    ("check here.py --exercise train_stp", "혹시 'train_step'인가요?"),
    ("check here.py --device gpu", "--device에는 auto, cpu, cuda"),
    ("watch nosuch.py", "파일이 없어요: nosuch.py"),
    ("watch", "지켜볼 파일을 찾지 못했어요: hanstep/01_five_line_step/1_five_lines.ipynb"),
    ("hint", "예: grader hint mend_step\n이름: "),
    ("hint train_stp", "혹시 'train_step'인가요?"),
    ("hint qqq", "연습 문제의 이름은 grader progress로, 노트북에서는 progress()로"),
    ("drill acumulate", "혹시 'accumulate'인가요?"),
    ("clinic trainstep", "혹시 'train_step'인가요?"),
    ("reset trainstep", "혹시 'train_step'인가요?"),
    ("grade nosuch", "채점할 폴더가 없어요: nosuch"),
    ("grade here.py", "폴더가 아니에요: here.py"),
    ("grade . --roster nosuch.csv", "파일이 없어요: nosuch.csv"),
    ("grade . --exercise train_stp", "혹시 'train_step'인가요?"),
    ("grade . --exercise mend_step", "점수에 들지 않는 과제"),
    (
        "grade . --exercise fit,mend_step,sam_step,lr_range_test",
        "고를 수 없어요: mend_step, lr_range_test. 점수에 드는 연습: 레슨 01 train_step, ",
    ),
    ("grade . --lesson 02 --exercise train_step", "'train_step' 연습은 레슨 01에 있어요"),
    ("grade . --lesson 01 --exercise fit,amp_step", "모두 적어 주세요: --exercise fit,amp_step"),
    ("grade . --lesson 99", "'99' 레슨은 없어요. 있는 레슨: 01"),
    ("grade . --device gpu", "--device에는 auto, cpu, cuda"),
    ("mark nosuch", "채점 결과가 없어요: nosuch"),
    ("export canvas nosuch", "nosuch"),
    ("similar nosuch", "채점할 폴더가 없어요: nosuch"),
]


@pytest.mark.parametrize(("command", "expected"), MISTYPED, ids=[command for command, _ in MISTYPED])
def test_is_answered_without_torch(command: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "here.py").write_text("", encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *command.split()],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(tmp_path), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert expected in ended.stderr
    assert ended.returncode == 2


def test_a_slow_command_says_at_once_that_it_starts(tmp_path: Path) -> None:
    """On a terminal only; `progress` was silent for up to 14 seconds on a busy machine."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "grader", "progress"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        first = os.read(ours, 4096).decode("utf-8", "replace")
        child.kill()
    os.close(ours)
    assert "준비하고 있어요" in first
