"""The command line as people use it: one Korean line for each wrong argument, and files that are watched."""

import errno
import importlib
import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

import grader
from grader.base.errors import CommandError, HanstepError, NothingToCheck
from grader.classroom import grade_class
from grader.cli import learner
from grader.cli.main import app, run
from grader.course import reading
from grader.course.reading import load_course
from grader.grading import SEED, grade_submission
from grader.grading.grading_run import GradingRun
from grader.judging.solution import exercise_source
from grader.learner.next_section import next_exercise
from grader.learner.progress import Progress
from grader.submission.submission import Submission
from tests.observe.five_lines import RIGHT
from tests.places import ROOT

Ended = Callable[..., tuple[int, str]]
WRONG = RIGHT.replace("    opt.zero_grad()\n", "")


@pytest.fixture
def ended(capsys: pytest.CaptureFixture[str]) -> Ended:
    """A command's exit status, and what it printed."""

    def ended(*arguments: str) -> tuple[int, str]:
        status = run(arguments)
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return ended


def test_a_folder_is_no_file(ended: Ended, tmp_path: Path) -> None:
    code, said = ended("check", str(tmp_path))
    assert code == 2
    assert "폴더예요" in said
    assert "grader grade" in said


def test_an_unreadable_file_is_told_once(ended: Ended, tmp_path: Path) -> None:
    (tmp_path / "hw.ipynb").write_text('{"cells": [', encoding="utf-8")
    code, said = ended("check", str(tmp_path / "hw.ipynb"))
    assert code == 1
    assert said.count("hw.ipynb") == 1


def test_an_exercise_that_is_not_in_the_file(ended: Ended, tmp_path: Path) -> None:
    """Also a bonus task, which is never called missing."""
    (tmp_path / "hw.py").write_text(RIGHT, encoding="utf-8")
    for name in ("accumulate", "accumulate_weighted"):
        code, said = ended("check", str(tmp_path / "hw.py"), "--exercise", name)
        assert code == NothingToCheck.status
        assert f"`{name}`가 없어요. 들어 있는 연습 문제: train_step\n" in said.replace(
            "hw.py에는\n", "hw.py에는 "
        )


def test_a_bonus_task_that_was_not_begun(ended: Ended, tmp_path: Path) -> None:
    (tmp_path / "hw.py").write_text("def wsd_at(*args, **kwargs):\n    ...\n", encoding="utf-8")
    code, said = ended("check", str(tmp_path / "hw.py"), "--exercise", "wsd_at")
    assert code == NothingToCheck.status
    assert "아직 시작하지 않았어요" in said


def test_a_misspelt_exercise_is_guessed(ended: Ended) -> None:
    code, said = ended("hint", "train_stp")
    assert code == 2
    assert "혹시 'train_step'인가요?" in said


def test_a_check_counts_in_the_progress(ended: Ended, tmp_path: Path) -> None:
    other = exercise_source(load_course().exercise("zero_gradients"))
    (tmp_path / "hw.py").write_text(f"{RIGHT}\n\n{other}", encoding="utf-8")
    code, said = ended("check", str(tmp_path / "hw.py"))
    assert code == 0, said
    assert len(re.findall(r"\+\d+ XP", said)) == 1, "all that was earned stands in one place, below the cards"
    assert said.index("(zero_gradients)") < said.index("XP")
    _, said = ended("progress")
    (row,) = [line for line in said.splitlines() if "(train_step)" in line]
    assert "✓" in row
    assert "레벨 2" in said
    assert "다음 클리핑과 스케줄러" in said


@pytest.mark.parametrize(("chosen", "seed"), [(["--seed", "0"], 0), (["--seed", "7"], 7), ([], SEED)])
def test_a_check_uses_the_seed_it_is_given(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: list[str], seed: int
) -> None:
    """Zero is a seed like any other; without one a file meets the same numbers as a notebook's cell."""
    runs: list[GradingRun] = []
    monkeypatch.setattr(grade_submission, "grade_one", stopping(runs))
    (tmp_path / "hw.py").write_text(RIGHT, encoding="utf-8")
    assert ended("check", str(tmp_path / "hw.py"), *chosen) == (2, "여기까지\n")
    assert [run.seed for run in runs] == [seed]


def test_a_class_is_graded_with_the_seed_that_is_given(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zero too: it is not taken for none, which draws one."""
    runs: list[GradingRun] = []
    monkeypatch.setattr(grade_class, "grade_class", stopping(runs))
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "kim.py").write_text(RIGHT, encoding="utf-8")
    arguments = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--seed", "0"]
    status, _ = ended(*arguments, "--sandbox", "none")
    assert status == 2
    assert [run.seed for run in runs] == [0]


def stopping(runs: list[GradingRun]) -> Callable[..., NoReturn]:
    """Stands in for the grading: keeps how it was to be done, and does none."""

    def grade(run: GradingRun, *_: object) -> NoReturn:
        runs.append(run)
        raise CommandError("여기까지")

    return grade


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_tells_the_command_that_resumes(tmp_path: Path) -> None:
    for number in range(40):
        folder = tmp_path / "class" / f"s{number:02}"
        folder.mkdir(parents=True)
        (folder / "hw.py").write_text(WRONG, encoding="utf-8")
    arguments = [
        "grade",
        str(tmp_path / "class"),
        "--out",
        str(tmp_path / "out"),
        "--lesson",
        "1",
        "--sandbox",
        "none",
    ]
    program = [sys.executable, "-m", "grader", *arguments]
    running = subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    journal = tmp_path / "out" / "unfinished.jsonl"
    while running.poll() is None and not (journal.is_file() and journal.read_text().count("\n") > 2):
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=120)[0]
    assert running.returncode == 130, said
    assert said.index("멈추는 중이에요") < said.index("이어서 하려면")
    command = said.split("이어서 하려면: ")[1].strip().split("\n")[0].split()
    assert command[0] == "grader"
    resumed = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert not journal.exists()


REST = ("--sandbox", "none", "--package", "numpy")


def test_without_a_terminal_lines_say_how_far_grading_is(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a log or a pipe there is no bar, and minutes of silence look like a hang."""
    monkeypatch.setattr("grader.cli.progress_shown._PULSE_SECONDS", 0.0)

    def grade(run: GradingRun, handed_in: list[Submission], finished: Callable[..., None]) -> None:
        for submission in handed_in:
            finished(grade_submission.assess_submission(run, submission, {}))

    monkeypatch.setattr(grade_class, "grade_class", grade)
    (tmp_path / "class").mkdir()
    for name in ("kim", "lee"):
        (tmp_path / "class" / f"{name}.py").write_text(RIGHT, encoding="utf-8")
    command = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--sandbox", "none"]
    status, said = ended(*command, "--exercise", "train_step")
    assert status == 0, said
    assert said.index("채점 1/2") < said.index("채점 2/2")


def test_the_command_that_resumes_asks_for_the_same(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that decides how a class is graded, and nothing that the first run did not say."""
    runs: list[GradingRun] = []

    def grade(run: GradingRun, *_: object) -> NoReturn:
        runs.append(run)
        raise KeyboardInterrupt

    monkeypatch.setattr(grade_class, "grade_class", grade)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "kim.py").write_text(RIGHT, encoding="utf-8")
    for out, options in (
        ("a", "--sandbox none"),
        ("b", "--sandbox none --exercise fit,train_step --package numpy"),
    ):
        words = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / out)]
        words += [*options.split(), "--resume"]
        status, said = ended(*words)
        assert status == 130
        assert sorted(said.split("이어서 하려면: ")[1].split()[1:]) == sorted(words)
    assert [run.added_packages for run in runs] == [(), ("numpy",)]
    assert runs[1].only == ("fit", "train_step")
    assert ended("grade", str(tmp_path / "class"), "--out", str(tmp_path / "b"), *REST, "--resume")[0] == 130
    assert runs[2].only == runs[1].only, "whoever resumes need not name the exercises again"
    assert runs[2].lessons == runs[1].lessons


def test_a_package_that_would_not_be_found_in_the_sandbox_is_refused(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip install -e` leaves the code in a folder that the sandbox does not show."""
    monkeypatch.setattr("grader.sandbox.packages.editable_source", lambda _: "file:///home/me/mine")
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "kim.py").write_text(RIGHT, encoding="utf-8")
    command = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--package", "numpy"]
    status, said = ended(*command)
    assert status == 2
    assert "pip install file:///home/me/mine" in said
    assert "--sandbox" not in said


def test_only_what_has_changed_is_graded(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is new and what was handed in again; the report is the whole class's, under the first run's seed."""
    graded: list[str] = []

    def grade(run: GradingRun, handed_in: list[Submission], finished: Callable[..., None]) -> None:
        for submission in handed_in:
            graded.append(submission.student)
            finished(grade_submission.assess_submission(run, submission, {}))

    monkeypatch.setattr(grade_class, "grade_class", grade)
    for name in ("kim", "lee"):
        (tmp_path / "class").mkdir(exist_ok=True)
        (tmp_path / "class" / f"{name}.py").write_text(RIGHT, encoding="utf-8")
    command = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--sandbox", "none"]
    assert ended(*command, "--seed", "7")[0] == 0
    (tmp_path / "class" / "lee.py").write_text(WRONG, encoding="utf-8")
    (tmp_path / "class" / "park.py").write_text(RIGHT, encoding="utf-8")
    status, said = ended(*command, "--changed-only")
    assert (status, graded) == (0, ["kim", "lee", "lee", "park"])
    assert "시드 7" in said
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert [entry["student"] for entry in results["submissions"]] == ["kim", "lee", "park"]
    assert ended(*command, "--changed-only")[0] == 0
    assert len(graded) == 4


def test_a_full_disk_ends_in_the_command_that_resumes(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(grade_class, "grade_class", full)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "kim.py").write_text(RIGHT, encoding="utf-8")
    command = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--sandbox", "none"]
    status, said = ended(*command)
    assert status == 2
    assert "No space left on device" in said
    assert "--resume" in said.split("이어서 채점해 주세요: ")[1]


@pytest.mark.full
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_does_not_wait_for_every_endless_loop(tmp_path: Path) -> None:
    """A dozen functions without an end would take two minutes; one of them takes its ten seconds."""
    course = load_course()
    endless = "".join(f"def {name}(*args, **kwargs):\n    while True: pass\n" for name in course.exercises)
    for student, text in (("a", RIGHT), ("b", endless), ("c", endless)):
        folder = tmp_path / "class" / student
        folder.mkdir(parents=True)
        (folder / "hw.py").write_text(text, encoding="utf-8")
    program = [
        sys.executable,
        "-m",
        "grader",
        "grade",
        str(tmp_path / "class"),
        "--out",
        str(tmp_path / "out"),
    ]
    running = subprocess.Popen(
        [*program, "--jobs", "1", "--sandbox", "none"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    journal = tmp_path / "out" / "unfinished.jsonl"
    while running.poll() is None and not (journal.is_file() and journal.read_text().count("\n") > 1):
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=60)[0].decode()
    assert running.returncode == 130, said
    assert "이어서 하려면" in said


def test_results_are_not_written_among_the_submissions(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A student's folder called `report` could hold a journal with full marks, or a link to any file."""
    (tmp_path / "class" / "report").mkdir(parents=True)
    (tmp_path / "class" / "report" / "hw.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "class")
    for out in ("report", ".", "report/deeper"):
        status, said = ended("grade", ".", "--out", out, "--resume")
        assert status == 2
        assert "제출물 폴더 안에" in said
    assert [p.name for p in (tmp_path / "class" / "report").iterdir()] == ["hw.py"]


@pytest.mark.parametrize(
    "line",
    ["[" * 100_000, '{"seed": 1, "device": "cpu", "lessons": 5}', "{}", ""],
    ids=["nested", "another's", "nothing in it", "empty"],
)
def test_a_journal_that_is_none_is_refused(ended: Ended, tmp_path: Path, line: str) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "hw.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "unfinished.jsonl").write_text(line + "\n", encoding="utf-8")
    status, said = ended("grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--resume")
    assert status == 2
    assert "파일을 읽을 수 없어요" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["grad"], "없는 명령이에요"),
        (["grade", "x", "--sed", "3"], "혹시 --seed"),
        (["grade", "x", "--seed", "셋"], "값이 맞지 않아요: --seed"),
        (["grade", "x", "--seed"], "받은 명령: grader grade x --seed"),
        (["hint"], "어느 연습 문제의 힌트인지 적어 주세요."),
        (["check"], "예: hanstep/01_five_line_step/1_five_lines.ipynb"),
        (["hint", "a", "b"], "인자가 너무 많거나 모자라요"),
    ],
)
def test_words_that_make_no_command_are_told_in_korean(words: list[str], told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "grader", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not re.search("Usage|Error|Try", done.stderr)


def test_help_is_korean_and_groups_commands_by_who_needs_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    groups = re.findall(r"^(\S.*):$", capsys.readouterr().out, re.MULTILINE)
    assert groups == ["옵션", "배우는 사람", "가르치는 사람", "강의를 고치는 사람"]
    for command in app.registered_commands:
        assert run([str(command.name), "--help"]) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"쓰는 법: grader {command.name} [옵션]")
        assert not re.search(r"Usage|Options|Arguments|Show|required|default:", said)


def test_every_error_ends_in_a_line_and_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever kind of it: the line is the error's own text, unbroken and without anything around it."""
    long = "[bold]고장[/bold]: " + "/아주/긴/경로" * 20 + ". 고쳐 주세요: grader doctor"
    kinds = {kind.__name__: kind for kind in kinds_of_error(HanstepError)}
    assert kinds.keys() >= {"BuildError", "CommandError", "CourseError", "NothingToCheck", "WorkspaceError"}
    for kind in kinds.values():
        monkeypatch.setattr(reading, "require_exercise", failing(kind(long)))
        assert run(["hint", "train_step"]) == kind.status, kind
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", f"{long}\n"), kind
    failed = {name for name, kind in kinds.items() if kind.status != 2}
    assert failed == {"NothingToCheck"}
    assert NothingToCheck.status == 1


def test_a_slip_of_ours_is_not_hidden_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody but us can mend it, and for that we need the traceback."""
    monkeypatch.setattr(reading, "require_exercise", failing(ValueError("우리 탓")))
    with pytest.raises(ValueError, match="우리 탓"):
        run(["hint", "train_step"])


def kinds_of_error(base: type[HanstepError]) -> set[type[HanstepError]]:
    """All there are in the package."""
    for module in pkgutil.walk_packages(grader.__path__, "grader."):
        if module.name != "grader.__main__":  # it would begin
            importlib.import_module(module.name)
    own = [kind for kind in base.__subclasses__() if kind.__module__.startswith("grader.")]
    return {base, *own, *(deeper for kind in own for deeper in kinds_of_error(kind))}


def failing(error: Exception) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise error

    return fail


def test_watch_survives_an_editor_that_replaces_the_file(tmp_path: Path) -> None:
    file = tmp_path / "hw.py"
    file.write_text(WRONG, encoding="utf-8")
    log = (tmp_path / "log").open("w+", encoding="utf-8")
    watching = subprocess.Popen([sys.executable, "-m", "grader", "watch", str(file)], cwd=ROOT, stdout=log)

    def wait_for(count: int) -> None:
        deadline = time.monotonic() + 120
        while (tmp_path / "log").read_text(encoding="utf-8").count("한 스텝") < count:
            assert time.monotonic() < deadline, (tmp_path / "log").read_text(encoding="utf-8")
            assert watching.poll() is None
            time.sleep(0.1)

    try:
        wait_for(1)
        for count, text in enumerate((RIGHT, WRONG, RIGHT), start=2):
            (tmp_path / "new").write_text(text, encoding="utf-8")
            (tmp_path / "new").replace(file)
            wait_for(count)
    finally:
        watching.terminate()
        watching.wait(timeout=30)
        log.close()


@pytest.mark.parametrize(("body", "status"), [("raise NotImplementedError", 0), ("return []", 1)])
def test_a_bonus_that_was_not_begun_is_no_failure(
    ended: Ended, tmp_path: Path, body: str, status: int
) -> None:
    file = tmp_path / "answers.py"
    bonus = f"def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps):\n    {body}\n"
    file.write_text(f"{RIGHT}\n\n{bonus}", encoding="utf-8")
    code, said = ended("check", str(file))
    assert code == status
    assert ("overfit_one_batch" in said) == bool(status)


@pytest.mark.parametrize("where", ["nothing yet", "hanstep", "inside it", "named"])
def test_next_opens_the_lessons_wherever_they_are(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """And copies them only where there are none, so that no folder of lessons grows inside another."""
    from grader.workspace import start

    opened: list[Path] = []
    monkeypatch.setattr(start, "open_lab", lambda folder, report, browser: opened.append(folder.resolve()))
    monkeypatch.chdir(tmp_path)
    lessons = tmp_path / ("mine" if where == "named" else "hanstep")
    if where != "nothing yet":
        start.prepare(lessons, lambda _: None)
    if where == "inside it":
        monkeypatch.chdir(lessons)
    status, said = ended("next", *(["mine"] if where == "named" else []), "--no-browser")
    assert status == 0, said
    assert "다음: 몸풀기. mend_step (레슨 01 한 train step, 약 2분)" in said
    assert opened == [lessons]
    assert ("복사했어요" in said) == (where == "nothing yet")


def test_watch_without_a_file_takes_the_next_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that `grader next` opens; from the folder of the lessons or from the one above it."""
    Progress.load().record_check("fit", True)
    for place in (tmp_path, tmp_path / "hanstep"):
        monkeypatch.chdir(tmp_path)
        course = load_course()
        following = next_exercise(course, Progress.load().passed)
        wanted = place / course.lesson(following.lesson).part_of(following.name).place
        wanted.parent.mkdir(parents=True)
        wanted.write_text("{}")
        assert learner._next_notebook().absolute() == wanted
    monkeypatch.chdir(tmp_path / "hanstep")
    assert learner._next_notebook().absolute() == wanted
