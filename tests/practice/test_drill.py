"""The drill: any right order passes, a wrong one gets feedback while the clock goes on, the best time is kept."""

import ast
import io
import json
import os
import re
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from grader.cli.main import run
from grader.course.reading import load_course
from grader.learner.progress import Progress
from grader.notebook import own_answers
from grader.practice import drill as drilling
from grader.practice import drill_cell
from grader.practice.best_times import Best, BestTimes
from tests.sample_programs import sample

WITHOUT_CLEARING = """\
loss = loss_fn(model(xb), yb)
loss.backward()
opt.step()
return loss.item()
"""
CLEARING_AT_THE_END = WITHOUT_CLEARING.replace("return", "value =", 1) + "opt.zero_grad()\nreturn value\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_wrong_try_then_another_right_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, f"{WITHOUT_CLEARING}\n{WITHOUT_CLEARING}\n{CLEARING_AT_THE_END}\n")
    assert run(["drill"]) == 0
    said = capsys.readouterr().out
    first, second = said.split("시계가 다시 가요", 1)
    assert "지난 배치들의 그레이디언트까지 들어갔어요" in first
    assert "zero_grad" not in first.partition("│\n╰")[2], "from memory: the symptom alone"
    assert "번째 줄" not in first
    assert "`opt.zero_grad()`를 부르지 않았어요" in second
    assert said.index("시계가 다시 가요") < said.index("통과했어요") < said.index("첫 기록이에요")
    assert BestTimes().of["train_step"].tries == 1


def test_in_a_terminal_what_was_typed_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the second slip name and line, no figures, and the same text with the cursor where a line is missing."""
    given: list[tuple[str, int | None]] = []

    def edit(text: str, *, first_line: int, clock: object, at: int | None = None) -> str:
        given.append((text, at))
        return WITHOUT_CLEARING if len(given) < 3 else CLEARING_AT_THE_END

    answers = iter(["", "q"])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(answers))
    monkeypatch.setattr("grader.cli.drill.is_terminal", lambda: True)
    monkeypatch.setattr("grader.cli.drill_editor.edit", edit)
    assert run(["drill"]) == 0
    assert given == [("", None), (WITHOUT_CLEARING, None), (WITHOUT_CLEARING, 1)]
    said = capsys.readouterr().out
    assert "`opt.zero_grad()`를 부르지 않았어요" in said
    assert "처음 갈라지는 곳" not in said
    assert "첫 기록이에요" in said


def test_all_mistakes_are_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The card counted two and named one, and no key showed the other."""
    typed(monkeypatch, WITHOUT_CLEARING.replace(".item()", "") + "\n")
    assert run(["drill"]) == 1
    said = capsys.readouterr().out
    assert "  1. " in said
    assert "  2. " in said


def test_giving_up_and_text_that_is_no_python(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, "opt.zero_grad((\n\n\n")
    assert run(["drill"]) == 1
    said = capsys.readouterr().out
    assert "문법 오류예요" in said
    assert "기록은 남기지 않았어요" in said
    assert BestTimes().of == {}


def test_the_accumulation_window_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blank is made where there is none; it is read when the learner says that it is saved."""
    file = tmp_path / "mine.py"
    right = sample("accepted", "accumulate", "look_ahead").text

    def saves(_prompt: str) -> str:
        assert "raise NotImplementedError" in file.read_text(encoding="utf-8")
        file.write_text(right, encoding="utf-8")
        return ""

    monkeypatch.setattr("builtins.input", saves)
    assert run(["drill", "accumulate", "--file", str(file)]) == 0
    assert "첫 기록이에요" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["train_step", "train_step_extras", "accumulate"])
def test_a_blank_is_a_file_to_fill_in(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "blank.py"
    assert run(["drill", name, "--blank", str(file)]) == 0
    (_, definition) = ast.parse(file.read_text(encoding="utf-8")).body
    assert isinstance(definition, ast.FunctionDef)
    assert definition.name == name
    assert "답으로 세지 않아요" in file.read_text(encoding="utf-8")
    assert len(definition.body) == 2, "a docstring and `raise NotImplementedError`"
    capsys.readouterr()
    file.write_text("mine", encoding="utf-8")
    for option in ("--blank", "--file"):
        assert run(["drill", name, option, str(file)]) == 2
        assert str(file) in capsys.readouterr().err.replace("\n", "")
    assert file.read_text(encoding="utf-8") == "mine", "never overwritten"


@pytest.mark.parametrize(("name", "told"), [("SAM", "클래스라"), ("trainstep", "혹시 'train_step'인가요")])
def test_what_cannot_be_drilled(name: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drill", name]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "body", ["a = 1\nif a:\n    a = 2\n", "    a = 1\n    if a:\n        a = 2\n", "\tif 1:\n\t\ta = 2\n"]
)
def test_lines_may_be_indented_or_not(body: str) -> None:
    exercise = load_course().exercise("train_step")
    (_, definition) = ast.parse(drilling.with_body(exercise, body)).body
    assert isinstance(definition, ast.FunctionDef)
    assert isinstance(definition.body[-1], ast.If)


def test_the_best_time_is_kept() -> None:
    assert BestTimes().record("train_step", 30.0) is None
    for seconds, best in ((40.0, 30.0), (20.0, 30.0), (25.0, 20.0)):
        before = BestTimes().record("train_step", seconds)
        assert before is not None
        assert before.seconds == best
    kept = BestTimes().of["train_step"]
    assert (kept.seconds, kept.tries, kept.recent) == (20.0, 4, (30.0, 40.0, 20.0, 25.0))
    BestTimes.path().write_text('{"fit": {"seconds": 20.0, "on": "2026-11-01", "tries": 3}}', "utf-8")
    assert BestTimes().of["fit"].recent == (), "kept by an earlier version"
    assert "새 기록" in drilling.result(20.0, Best(30.0, kept.on))
    assert "새 기록" not in drilling.result(40.0, kept)
    assert drilling.time_in_words(59.96) == "1분 0.0초"


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b'{"train_step": {"seconds": -1, "on": "2026-01-01"}}',
        b'{"train_step": {"seconds": 1e400, "on": "2026-01-01"}}',
        b'{"train_step": {"seconds": "fast", "on": "now"}}',
        b'{"x": ' + b"[" * 100_000,
        b'{"a": "' + b"b" * 2**21 + b'"}',
    ],
    ids=("cut", "no-text", "list", "negative", "infinite", "words", "deep", "huge"),
)
def test_a_broken_file_is_set_aside(content: bytes) -> None:
    path = BestTimes.path()
    path.write_bytes(content)
    times = BestTimes()
    assert times.of == {}
    assert times.set_aside is not None
    assert times.set_aside.read_bytes() == content
    assert str(times.set_aside) in drilling.set_aside_note(times)
    times.record("train_step", 3.0)
    assert BestTimes().set_aside is None
    assert json.loads(path.read_bytes())["train_step"]["seconds"] == 3.0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_in_its_place_makes_nobody_wait() -> None:
    os.mkfifo(BestTimes.path())
    assert BestTimes().set_aside is not None


def test_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name starts the clock, the function stops it when it is right."""
    names: dict[str, object] = {}
    exec("def train_step(model, opt, loss_fn, xb, yb):\n    pass\n", names)
    assert "시계가 아직" in drill_cell.drill(names["train_step"]).text  # type: ignore[arg-type]
    begun = drill_cell.drill()
    assert "def train_step_drill(" in begun.text
    assert "raise NotImplementedError" in begun.html
    wrong = drill_cell.drill(names["train_step"])  # type: ignore[arg-type]
    assert not wrong.passed
    assert "시계는 계속" in wrong.text
    assert not Progress.load().events
    source = drilling.with_body(load_course().exercise("train_step"), CLEARING_AT_THE_END)
    exec(source, names)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61.0)
    right = drill_cell.drill(names["train_step"])  # type: ignore[arg-type]
    assert right.passed
    assert re.search(r"^1분 \d+\.\d초 걸렸어요. 첫 기록", right.text)
    assert [(event.kind, event.what) for event in Progress.load().events] == [("drill", "train_step")]
    assert drill_cell.drill("no_such").text.startswith("'no_such'라는 연습 문제는 없어요")


# ---- the learner's own function beside it ----------------------------------------------------------------

ANSWER = "def train_step(model, opt, loss_fn, xb, yb):\n    return 'the answer'\n"
OLD_DRILL = "import torch\n\n\ndef train_step(model, opt, loss_fn, xb, yb):\n    pass\n\n\n{}"


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A kernel in which the lesson's first cell has run."""
    InteractiveShell.clear_instance()
    kernel = InteractiveShell.instance()
    kernel.history_manager.enabled = False
    own_answers.protect_answers()
    ran(kernel, "from grader import check, clinic, drill")
    yield kernel
    InteractiveShell.clear_instance()


def ran(kernel: InteractiveShell, source: str) -> Any:
    result = kernel.run_cell(source, store_history=True)
    assert result.success, result.error_in_exec
    return result.result


def test_a_drill_has_a_function_of_its_own(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    cells: list[str] = []
    monkeypatch.setattr(drill_cell, "new_cell", cells.append)
    ran(shell, ANSWER)
    ran(shell, "drill()")
    (text,) = cells
    assert text.endswith("\n\n\ndrill(train_step_drill)")
    body = textwrap.indent(CLEARING_AT_THE_END, "    ")
    done = ran(shell, re.sub(r"    # 여기에.*\n    raise NotImplementedError\n", lambda _: body, text))
    assert done.passed
    assert "첫 기록" in done.text
    assert ran(shell, "train_step(1, 2, 3, 4, 5)") == "the answer"
    assert not Progress.load().passed, "the exercise has not been answered"


@pytest.mark.parametrize(
    "call", ["drill(train_step)", "clinic(train_step)", "check(train_step)\ndrill(train_step)"]
)
def test_an_old_drill_cell_leaves_the_answer(shell: InteractiveShell, call: str) -> None:
    """It defines the function under the exercise's own name. Once it has run, that is the learner's own again."""
    ran(shell, ANSWER)
    ran(shell, OLD_DRILL.format(call))
    assert ran(shell, "train_step(1, 2, 3, 4, 5)") == "the answer"


def test_an_old_drill_cell_is_still_a_drill(shell: InteractiveShell) -> None:
    ran(shell, "drill()")
    right = drilling.with_body(load_course().exercise("train_step"), CLEARING_AT_THE_END)
    assert ran(shell, f"{right}\n\ndrill(train_step)").passed
    assert "답으로 세지 않아요" in ran(shell, "check(train_step)").text
    assert not Progress.load().passed


def test_an_answer_that_drills_itself_can_be_changed(shell: InteractiveShell) -> None:
    """To run the cell again must not bring its first version back."""
    for value in (1, 2):
        ran(shell, OLD_DRILL.replace("pass", f"return {value}").format("drill(train_step)"))
        assert ran(shell, "train_step(1, 2, 3, 4, 5)") == value
    ran(shell, ANSWER)
    cell = OLD_DRILL.format("drill(train_step)")
    shell.run_cell(cell, store_history=True, cell_id="exercise-train_step")
    assert ran(shell, "train_step(1, 2, 3, 4, 5)") is None, "the lesson's own cell holds an answer"


def test_a_drill_that_failed_leaves_the_answer_too(shell: InteractiveShell) -> None:
    ran(shell, ANSWER)
    shell.run_cell(OLD_DRILL.format("1 / 0\ndrill(train_step)"), store_history=True)
    assert ran(shell, "train_step(1, 2, 3, 4, 5)") == "the answer"


@pytest.mark.parametrize("name", ["train_step", "train_step_drill", "train_step_clinic"])
def test_check_counts_no_drill(shell: InteractiveShell, name: str) -> None:
    tool = "clinic" if name.endswith("clinic") else "drill"
    right = drilling.with_body(load_course().exercise("train_step"), CLEARING_AT_THE_END)
    cell = right.replace("def train_step(", f"def {name}(")
    shown = ran(shell, f"{cell}\n\n{tool}({name})\ncheck({name})")
    assert not shown.passed
    assert "답으로 세지 않아요" in shown.text
    assert not Progress.load().passed


def test_an_answer_that_leans_on_a_drills_import_is_told(shell: InteractiveShell) -> None:
    """When it is graded, the drill is not there."""
    ran(shell, "import math\n\n\ndef train_step_drill():\n    pass\n\n\ndrill(train_step_drill)")
    shown = ran(shell, ANSWER.replace("return", "math.pi\n    return") + "\n\ncheck(train_step)")
    assert "`math`" in shown.text


@pytest.mark.parametrize("answer", ["", "def train_step(*_):\n    raise NotImplementedError\n"])
def test_a_file_with_its_answer_in_a_drill_cell_is_told(
    answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hw.py").write_text(f"# %%\n{answer}# %%\n{OLD_DRILL.format('drill(train_step)')}\n")
    assert run(["check", str(tmp_path / "hw.py")]) != 0
    said = " ".join("".join(capsys.readouterr()).split())
    assert "`train_step`은 드릴에만 쓰여 있어요" in said


@pytest.mark.parametrize("value", [5, None, ["train_step"]])
def test_what_is_no_exercise_is_told_what_drill_takes(value: object) -> None:
    """`drill(5)` was told that there is no exercise called 'int', and asked whether it meant 'fit'."""
    said = drill_cell.drill(value).text  # type: ignore[arg-type]
    assert f"연습 문제의 이름이나 드릴 셀에 쓴 함수를 넘겨 주세요 (받은 값: {value!r})" in said
