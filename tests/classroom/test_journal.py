"""The journal: a killed run goes on where it was, and only where that is the same run."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.classroom.grading import digest
from grader.classroom.journal import Journal, JournalError, refuse_inside
from grader.classroom.run import GradingRun
from grader.feedback import SubmissionResult
from grader.report.results import SCHEMA, to_json
from grader.submission.submission import Submission, read_submission
from tests.report import samples

COURSE = samples.course()
RUN = GradingRun(COURSE, COURSE.lessons, seed=7)
SETUP = {"schema": SCHEMA, "seed": 7, "device": "cpu", "lessons": ["01"]}
NAMES = ("김하윤", "박지우", "이서준")

Class = list[Submission]


def handed_in(folder: Path, text: str) -> Submission:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hw.py").write_text(text, encoding="utf-8")
    return read_submission(folder, tuple(COURSE.exercises))


@pytest.fixture
def submissions(tmp_path: Path) -> Class:
    return [handed_in(tmp_path / "class" / name, f"def fit():\n    return '{name}'\n") for name in NAMES]


def graded(submission: Submission) -> SubmissionResult:
    """As the grading would make it: every kind of feedback, and the fingerprint of the files."""
    return replace(samples.typical(submission.student), digest=digest(submission))


def opened(
    out: Path, run: GradingRun = RUN, *, resume: bool = False, seed_given: bool = False
) -> tuple[Journal, GradingRun]:
    return Journal.open(out, run, "bwrap", resume=resume, seed_given=seed_given)


def killed_after(out: Path, *done: Submission) -> Path:
    """The file a run leaves that is killed when these students have been graded: what has reached the disk by then."""
    journal, _ = opened(out)
    for submission in done:
        journal.add(graded(submission))
    path = out / "unfinished.jsonl"
    left = path.read_bytes()
    journal.close()
    path.write_bytes(left)
    return path


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


# ---- what is kept -------------------------------------------------------------------------------------


def test_each_student_is_kept_the_moment_it_is_there(tmp_path: Path, submissions: Class) -> None:
    """A line that waits in a buffer is lost with the process."""
    journal, _ = opened(tmp_path / "new" / "out")
    path = tmp_path / "new" / "out" / "unfinished.jsonl"
    for number, submission in enumerate(submissions, start=1):
        journal.add(graded(submission))
        first, *rest = lines_of(path)
        assert first == SETUP
        assert [line["student"] for line in rest] == list(NAMES[:number])


def test_a_run_killed_before_its_first_student_can_be_resumed(tmp_path: Path) -> None:
    """It says its setup from the beginning on: an empty file would be refused as none of ours."""
    path = killed_after(tmp_path / "out")
    assert lines_of(path) == [SETUP]


def test_a_killed_run_resumes_where_it_was(tmp_path: Path, submissions: Class) -> None:
    """Who has been graded is not graded again, and the class comes out as if nothing had happened."""
    whole, _ = opened(tmp_path / "whole")
    for submission in submissions:
        whole.add(graded(submission))
    killed_after(tmp_path / "out", *submissions[:2])
    journal, run = opened(tmp_path / "out", resume=True)
    assert run == RUN
    assert [journal.has(s) for s in submissions] == [True, True, False]
    journal.add(graded(submissions[2]))
    assert to_json(journal.result(submissions)) == to_json(whole.result(submissions))


def test_a_run_can_be_killed_twice(tmp_path: Path, submissions: Class) -> None:
    """What the first run did is kept while the second goes on."""
    path = killed_after(tmp_path / "out", submissions[0])
    second, _ = opened(tmp_path / "out", resume=True)
    second.add(graded(submissions[1]))
    third, _ = opened(tmp_path / "out", resume=True)
    assert [third.has(s) for s in submissions] == [True, True, False]
    third.add(graded(submissions[2]))
    assert [line.get("student") for line in lines_of(path)] == [None, *NAMES]


def test_results_are_in_the_order_of_the_submissions(tmp_path: Path, submissions: Class) -> None:
    """Whoever was graded first, and on how many processors: the report is the same."""
    journal, _ = opened(tmp_path / "out")
    for submission in reversed(submissions):
        journal.add(graded(submission))
    result = journal.result(submissions)
    assert [s.student for s in result.submissions] == list(NAMES)
    assert (result.seed, result.device, result.sandbox) == (7, "cpu", "bwrap")


def test_what_was_handed_in_again_is_graded_again(tmp_path: Path, submissions: Class) -> None:
    """The name is the same, the files are not; and the last result of a student is the one that counts."""
    killed_after(tmp_path / "out", *submissions)
    again = handed_in(tmp_path / "class" / NAMES[1], "def fit():\n    return 'better'\n")
    journal, _ = opened(tmp_path / "out", resume=True)
    assert journal.has(submissions[1])
    assert not journal.has(again)
    better = replace(samples.passed_all(NAMES[1]), digest=digest(again))
    journal.add(better)
    assert journal.has(again)
    third, _ = opened(tmp_path / "out", resume=True)
    assert third.has(again)
    assert third.result([again]).submissions == (better,)


def test_texts_of_students_do_not_break_lines(tmp_path: Path, submissions: Class) -> None:
    """A line separator, a lone surrogate or markup in a name or a message stays within its line."""
    nasty = f"{samples.NASTY}\n\r\x0b\x1c\x85\u2028\u2029"
    result = replace(samples.typical(nasty), notes=(nasty,), feedbacks=(samples.hostile(),))
    journal, _ = opened(tmp_path / "out")
    journal.add(result)
    journal.add(graded(submissions[0]))
    assert len(lines_of(tmp_path / "out" / "unfinished.jsonl")) == 3
    resumed, _ = opened(tmp_path / "out", resume=True)
    assert resumed.has(submissions[0])
    (back,) = resumed.result([replace(submissions[0], student=nasty)]).submissions
    assert (back.student, back.notes) == (nasty, (nasty,))


def test_without_resume_the_run_begins_anew(tmp_path: Path, submissions: Class) -> None:
    path = killed_after(tmp_path / "out", *submissions)
    journal, _ = opened(tmp_path / "out", replace(RUN, seed=8))
    assert not any(journal.has(s) for s in submissions)
    journal.add(graded(submissions[0]))
    first, *rest = lines_of(path)
    assert first == {**SETUP, "seed": 8}
    assert [line["student"] for line in rest] == [NAMES[0]]


def test_resume_without_an_unfinished_run_begins_one(tmp_path: Path, submissions: Class) -> None:
    """Who always types --resume gets a run and no error."""
    journal, run = opened(tmp_path / "out", resume=True, seed_given=True)
    assert run == RUN
    assert not journal.has(submissions[0])


def test_the_journal_goes_when_the_run_is_complete(tmp_path: Path, submissions: Class) -> None:
    """Else the next --resume would find last week's results; a file that is gone already is no error."""
    for removed in (False, True):
        journal, _ = opened(tmp_path / "out")
        journal.add(graded(submissions[0]))
        path = tmp_path / "out" / "unfinished.jsonl"
        if removed:
            path.unlink()
        journal.close()
        assert list((tmp_path / "out").iterdir()) == []


# ---- lines that are not believed ----------------------------------------------------------------------


def cut(line: str) -> str:
    return line[: len(line) // 2]


def other_total(line: str) -> str:
    return json.dumps({**json.loads(line), "score": 28.0})


def other_check(line: str) -> str:
    document = json.loads(line)
    document["exercises"][0]["checks"][0]["passed"] = True
    return json.dumps(document)


@pytest.mark.parametrize(
    "spoiled",
    [cut, other_total, other_check, lambda line: "[" * 100_000, lambda line: "null", lambda line: ""],
    ids=["half written", "forged total", "forged check", "deep", "null", "empty"],
)
def test_a_line_that_cannot_be_believed_costs_one_student(
    tmp_path: Path, submissions: Class, spoiled: Callable[[str], str]
) -> None:
    """The kill came while a line was being written, or somebody edited it: that student is graded again."""
    path = killed_after(tmp_path / "out", *submissions)
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[2] = spoiled(lines[2])
    path.write_text("\n".join(lines), encoding="utf-8")
    journal, _ = opened(tmp_path / "out", resume=True)
    assert [journal.has(s) for s in submissions] == [True, False, True]


# ---- runs that cannot be resumed ----------------------------------------------------------------------


def refused(path: Path, run: GradingRun = RUN, *, seed_given: bool = False) -> str:
    """What is said; what was there stays as it was, for whoever gives the right options next."""
    before = path.read_bytes()
    with pytest.raises(JournalError) as error:
        opened(path.parent, run, resume=True, seed_given=seed_given)
    assert path.read_bytes() == before
    return str(error.value)


# One student of such a journal: checks, moments and the recipe are lists, as they were then.
STUDENT_BEFORE = {
    **{"student": "김하윤", "score": 1.0, "max_score": 1.0, "notes": [], "scrutiny": [], "digest": "0123"},
    "exercises": [
        {
            **{"lesson": "01", "exercise": "fit", "status": "passed", "score": 1.0, "max_score": 1.0},
            **{"mistakes": [], "message": "통과했어요.", "line": None, "seconds": 0.1, "title": "에폭 루프"},
            **{"checks": [["SGD 궤적", 1.0, True]], "notes": [], "diagnosis": None},
        }
    ],
}


def test_a_run_of_the_version_before_is_not_resumed(tmp_path: Path) -> None:
    """Its first line had no schema. Its lines could not be read, and every student would be graded anew unasked."""
    before = {key: value for key, value in SETUP.items() if key != "schema"}
    path = tmp_path / "unfinished.jsonl"
    path.write_text(f"{json.dumps(before)}\n{json.dumps(STUDENT_BEFORE)}\n", encoding="utf-8")
    told = refused(path)
    assert "다른 버전의 한 스텝" in told
    assert told.index("hanstep.results/1") < told.index("hanstep.results/2")
    assert "처음부터 채점해 주세요" in told
    assert told.endswith("--seed 7")


def test_a_run_of_a_later_version_is_not_resumed_either(tmp_path: Path) -> None:
    """Nor is it told to try other options, where those differ as well: they would not help."""
    path = tmp_path / "unfinished.jsonl"
    path.write_text(json.dumps({**SETUP, "schema": "hanstep.results/3", "seed": 11}) + "\n", encoding="utf-8")
    for run, seed_given in ((RUN, False), (replace(RUN, device="cuda"), True)):
        told = refused(path, run, seed_given=seed_given)
        assert "다른 버전의 한 스텝" in told
        assert told.index("hanstep.results/3") < told.index(SCHEMA)
        assert told.endswith("--seed 11")


@pytest.mark.parametrize(
    "line",
    [
        *("", "{", "[]", "null", "3", "{}", '"seed"'),
        pytest.param("[" * 100_000, id="deep"),
        *(json.dumps({**SETUP, "lessons": 5}), json.dumps({**SETUP, "seed": "seven"})),
        *(json.dumps({**SETUP, "seed": value}) for value in (None, [], float("nan"), float("inf"))),
        *(
            json.dumps({key: SETUP[key] for key in SETUP if key != left})
            for left in ("seed", "device", "lessons")
        ),
    ],
)
def test_a_file_that_is_no_journal_is_refused(tmp_path: Path, line: str) -> None:
    """The command that removes it stands in the message."""
    path = tmp_path / "unfinished.jsonl"
    path.write_text(f"{line}\n", encoding="utf-8")
    told = refused(path)
    assert "파일을 읽을 수 없어요" in told
    assert told.endswith(f"rm {path}")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "unfinished.jsonl"
    for data in (b"", b"\xff\xfe\x00\x01", b"\x80\n"):
        path.write_bytes(data)
        assert "파일을 읽을 수 없어요" in refused(path)


def test_the_seed_of_the_killed_run_goes_on(tmp_path: Path, submissions: Class) -> None:
    """A seed that nobody asked for gives way: half a class on another seed would be two gradings in one."""
    path = killed_after(tmp_path / "out", submissions[0])
    journal, run = opened(tmp_path / "out", replace(RUN, seed=12345), resume=True)
    assert run == RUN
    assert journal.has(submissions[0])
    assert journal.result(submissions[:1]).seed == 7
    journal.add(graded(submissions[1]))
    assert lines_of(path)[0] == SETUP


@pytest.mark.parametrize("other", ["seed", "device", "lessons"])
def test_other_options_are_told_and_not_mixed(tmp_path: Path, submissions: Class, other: str) -> None:
    """The message holds the options to type; with them the run goes on."""
    path = killed_after(tmp_path / "out", submissions[0])
    changed = {
        "seed": replace(RUN, seed=8),
        "device": replace(RUN, device="cuda"),
        "lessons": replace(RUN, lessons=(*RUN.lessons, replace(RUN.lessons[0], id="02"))),
    }[other]
    told = refused(path, changed, seed_given=True)
    assert "멈춘 채점과 옵션이 달라요" in told
    assert "--seed 7 --device cpu --lesson 01" in told
    journal, _ = opened(tmp_path / "out", resume=True, seed_given=True)
    assert journal.has(submissions[0])


# ---- where it may lie ---------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [".", "report", "김하윤/report", "../class", "../class/x"])
def test_no_results_among_the_submissions(tmp_path: Path, inside: str) -> None:
    """What lies there was handed in: it could be a journal with full marks, or a link to any file."""
    folder = tmp_path / "class"
    folder.mkdir()
    with pytest.raises(JournalError, match="제출물 폴더 안에") as error:
        refuse_inside(folder / inside, folder)
    assert shlex.split(str(error.value))[-2:] == ["--out", str(tmp_path / "report")]
    assert list(folder.iterdir()) == []


def test_a_link_into_the_submissions_is_seen_through(tmp_path: Path) -> None:
    (tmp_path / "my class").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "my class", target_is_directory=True)
    with pytest.raises(JournalError) as error:
        refuse_inside(tmp_path / "out" / "report", tmp_path / "my class")
    assert shlex.split(str(error.value))[-1] == str(tmp_path / "report")  # quoted where it must be


@pytest.mark.parametrize("beside", ["report", "class-report", "class/../report", "."])
def test_results_beside_the_submissions_are_fine(tmp_path: Path, beside: str) -> None:
    """A name that only begins like the class's folder lies outside it."""
    (tmp_path / "class").mkdir()
    refuse_inside(tmp_path / beside, tmp_path / "class")
