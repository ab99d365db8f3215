"""The journal: a killed run goes on where it was, and only where that is the same run and nobody else wrote in it."""

import json
import os
import shlex
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.classroom.journal import Journal, JournalError, refuse_inside
from grader.classroom.seal import Seal
from grader.course.feedback import SubmissionResult
from grader.grading.grading_run import GradingRun
from grader.report.results import SCHEMA, submission_to_document, to_json
from grader.submission.submission import Submission, read_submission
from tests.report import samples

COURSE = samples.course()
RUN = GradingRun(COURSE, COURSE.lessons, seed=7)
SETUP = {
    "schema": SCHEMA,
    "seed": 7,
    "device": "cpu",
    "sandbox": "bwrap",
    "lessons": ["01"],
    "only": [],
    "added": [],
    "own_names": [],
}
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
    return replace(samples.typical(submission.student), digest=submission.digest)


def opened(
    out: Path,
    run: GradingRun = RUN,
    *,
    resume: bool = False,
    changed_only: bool = False,
    seed_given: bool = False,
    sandbox: str = "bwrap",
) -> tuple[Journal, GradingRun]:
    return Journal.open(out, run, sandbox, resume=resume, changed_only=changed_only, seed_given=seed_given)


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
    """What the lines say; the first without what is new in every run."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    return [
        {key: value for key, value in lines[0].items() if key not in ("run", "course", "seal")},
        *lines[1:],
    ]


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
    students = [s.student for s in submissions]
    assert to_json(journal.result(students)) == to_json(whole.result(students))


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
    result = journal.result([s.student for s in submissions])
    assert [s.student for s in result.submissions] == list(NAMES)
    assert (result.seed, result.device, result.sandbox) == (7, "cpu", "bwrap")


def test_what_was_handed_in_again_is_graded_again(tmp_path: Path, submissions: Class) -> None:
    """The name is the same, the files are not; and the last result of a student is the one that counts."""
    killed_after(tmp_path / "out", *submissions)
    again = handed_in(tmp_path / "class" / NAMES[1], "def fit():\n    return 'better'\n")
    journal, _ = opened(tmp_path / "out", resume=True)
    assert journal.has(submissions[1])
    assert not journal.has(again)
    better = replace(samples.passed_all(NAMES[1]), digest=again.digest)
    journal.add(better)
    assert journal.has(again)
    third, _ = opened(tmp_path / "out", resume=True)
    assert third.has(again)
    assert third.result([again.student]).submissions == (better,)


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
    (back,) = resumed.result([nasty]).submissions
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


def test_nothing_is_left_to_resume_when_the_run_is_complete(tmp_path: Path, submissions: Class) -> None:
    """Else the next --resume would find last week's results; a file that is gone already is no error."""
    for removed in (False, True):
        out = tmp_path / str(removed)
        journal, _ = opened(out)
        journal.add(graded(submissions[0]))
        if removed:
            (out / "unfinished.jsonl").unlink()
        journal.close()
        assert [path.name for path in out.iterdir()] == ([] if removed else ["graded.jsonl"])
        again, _ = opened(out, resume=True)
        assert not again.has(submissions[0])


@pytest.mark.parametrize(
    "left", [b"", b'{"schema": "hanstep', b"\xff\xfe\x00"], ids=["empty", "half", "bytes"]
)
def test_a_run_that_had_not_begun_is_begun(tmp_path: Path, submissions: Class, left: bytes) -> None:
    """A power cut can leave an empty file, or half a first line: there is nothing in it that could be lost."""
    path = tmp_path / "unfinished.jsonl"
    path.write_bytes(left)
    journal, run = opened(tmp_path, resume=True)
    assert run == RUN
    journal.add(graded(submissions[0]))
    assert opened(tmp_path, resume=True)[0].has(submissions[0])
    assert lines_of(path)[0] == SETUP


def test_a_line_after_half_a_line_is_kept(tmp_path: Path, submissions: Class) -> None:
    """The kill came while a line was being written: the next one begins on a line of its own."""
    path = killed_after(tmp_path, *submissions[:2])
    path.write_bytes(path.read_bytes()[:-100])
    journal, _ = opened(tmp_path, resume=True)
    assert [journal.has(s) for s in submissions] == [True, False, False]
    journal.add(graded(submissions[1]))
    again, _ = opened(tmp_path, resume=True)
    assert [again.has(s) for s in submissions] == [True, True, False]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, submissions: Class) -> None:
    """What was kept before is there when there is room again; the student for whom there was none is not."""
    journal, _ = opened(tmp_path)
    journal.add(graded(submissions[0]))
    with open("/dev/full", "wb", buffering=0) as full:
        journal._writer._file = full
        with pytest.raises(OSError, match="No space"):
            journal.add(graded(submissions[1]))
    assert not journal.has(submissions[1])
    again, _ = opened(tmp_path, resume=True)
    assert [again.has(s) for s in submissions] == [True, False, False]


# ---- only what has changed ----------------------------------------------------------------------------


def complete(out: Path, submissions: Class) -> None:
    journal, _ = opened(out)
    for submission in submissions:
        journal.add(graded(submission))
    journal.close()


def test_a_later_run_keeps_what_has_not_changed(tmp_path: Path, submissions: Class) -> None:
    """With the seed of that run, and for the next time too; who left the class is not in the results."""
    complete(tmp_path / "out", submissions)
    again = handed_in(tmp_path / "class" / NAMES[1], "def fit():\n    return 'better'\n")
    journal, run = opened(tmp_path / "out", replace(RUN, seed=12345), changed_only=True)
    assert run == RUN
    assert [journal.has(s) for s in (submissions[0], again, submissions[2])] == [True, False, True]
    journal.add(replace(samples.passed_all(NAMES[1]), digest=again.digest))
    assert [s.student for s in journal.result([submissions[0].student, again.student]).submissions] == list(
        NAMES[:2]
    )
    journal.close()
    third, _ = opened(tmp_path / "out", changed_only=True)
    assert [third.has(s) for s in (submissions[0], again, submissions[2])] == [True, True, True]


def test_a_later_run_that_is_killed_loses_nothing_either(tmp_path: Path, submissions: Class) -> None:
    """Whether it is resumed or asked once more for what has changed."""
    complete(tmp_path, submissions[:1])
    journal, _ = opened(tmp_path, changed_only=True)
    journal.add(graded(submissions[1]))
    for again in ({"resume": True}, {"changed_only": True}):
        journal, _ = opened(tmp_path, **again)
        assert [journal.has(s) for s in submissions] == [True, True, False]


def test_the_first_run_may_be_asked_for_what_has_changed(tmp_path: Path, submissions: Class) -> None:
    journal, run = opened(tmp_path, changed_only=True, seed_given=True)
    assert run == RUN
    assert not journal.has(submissions[0])


def test_a_run_without_either_grades_all_anew(tmp_path: Path, submissions: Class) -> None:
    complete(tmp_path, submissions)
    journal, _ = opened(tmp_path)
    assert not any(journal.has(s) for s in submissions)


def test_what_was_graded_by_another_course_is_not_kept(
    tmp_path: Path, submissions: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version with other answers, mistakes or points would grade one half of the class by each."""
    complete(tmp_path, submissions)
    monkeypatch.setattr("grader.classroom.journal.VERSION", "0.0.1")
    with pytest.raises(JournalError, match=r"정답, 채점 기준이 바뀌어서.*--seed 7"):
        opened(tmp_path, changed_only=True)


# ---- lines that are not believed ----------------------------------------------------------------------


def cut(line: str) -> str:
    return line[: len(line) // 2]


def other_total(line: str) -> str:
    return json.dumps({**json.loads(line), "score": 28.0})


def full_marks(line: str) -> str:
    """As the grader would have written it, but for the key that the forger does not have."""
    student = json.loads(line)["student"]
    text = json.dumps(submission_to_document(replace(samples.passed_all(student), digest="0123456789abcdef")))
    return Seal(bytes(32)).sealed(text, "setup").decode().rstrip()


def without_seal(line: str) -> str:
    return json.dumps({key: value for key, value in json.loads(line).items() if key != "seal"})


@pytest.mark.parametrize(
    "spoiled",
    [
        *(cut, other_total, full_marks, without_seal),
        *(lambda line: "[" * 100_000, lambda line: "null", lambda line: "", lambda line: "\udcff"),
    ],
    ids=["half written", "forged total", "forged marks", "no seal", "deep", "null", "empty", "no text"],
)
def test_a_line_that_cannot_be_believed_costs_one_student(
    tmp_path: Path, submissions: Class, spoiled: Callable[[str], str]
) -> None:
    """The kill came while a line was being written, or somebody edited it: that student is graded again."""
    path = killed_after(tmp_path / "out", *submissions)
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[2] = spoiled(lines[2])
    path.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
    journal, _ = opened(tmp_path / "out", resume=True)
    assert [journal.has(s) for s in submissions] == [True, False, True]


def test_a_line_of_another_run_is_not_believed(tmp_path: Path, submissions: Class) -> None:
    """It has our seal, but was made with another seed, or before the course was mended."""
    other = killed_after(tmp_path / "other", submissions[0]).read_bytes().split(b"\n")[1]
    path = killed_after(tmp_path / "out")
    with path.open("ab") as file:
        file.write(other + b"\n")
    journal, _ = opened(tmp_path / "out", resume=True)
    assert not journal.has(submissions[0])


@pytest.mark.parametrize("name", ["unfinished.jsonl", "graded.jsonl"])
def test_a_journal_of_another_user_is_refused(
    tmp_path: Path, submissions: Class, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whoever can write into the shared folder could have made it. The key is nobody else's to read."""
    path = killed_after(tmp_path / "out", *submissions)
    if name == "graded.jsonl":
        path = path.rename(path.with_name(name))
    (key,) = Path(os.environ["HANSTEP_HOME"]).glob("journal.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    monkeypatch.setenv("HANSTEP_HOME", str(tmp_path / "another"))
    with pytest.raises(JournalError, match=f"이 계정이 쓴 기록이 아니거나.* rm .*{name}"):
        opened(tmp_path / "out", changed_only=True)


def test_without_a_place_for_the_key_the_run_goes_on(
    tmp_path: Path, submissions: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only home costs the possibility to resume, not the grading."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HANSTEP_HOME", str(tmp_path / "file"))
    journal, _ = opened(tmp_path / "out")
    journal.add(graded(submissions[0]))
    with pytest.raises(JournalError, match="이 계정이 쓴 기록이 아니거나"):
        opened(tmp_path / "out", resume=True)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices")
@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "device"])
def test_a_journal_that_is_no_file_is_refused_at_once(tmp_path: Path, submissions: Class, kind: str) -> None:
    """A pipe would be waited for until somebody writes into it, a link followed to where it leads."""
    elsewhere = killed_after(tmp_path / "elsewhere", *submissions)
    path = tmp_path / "out" / "unfinished.jsonl"
    path.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(elsewhere if kind == "link" else "/dev/zero")
    told: list[str] = []

    def resume() -> None:
        with pytest.raises(JournalError) as error:
            opened(tmp_path / "out", resume=True)
        told.append(str(error.value))

    thread = threading.Thread(target=resume, daemon=True)
    thread.start()
    thread.join(20)
    assert told
    assert "보통 파일이 아니에요" in told[0]
    assert told[0].endswith(f"rm -r {path}")
    if kind != "folder":  # which a run that begins anew does not delete
        opened(tmp_path / "out")
        assert lines_of(path) == [SETUP]
    assert len(lines_of(elsewhere)) == 4


# ---- runs that cannot be resumed ----------------------------------------------------------------------


def refused(path: Path, run: GradingRun = RUN, *, seed_given: bool = False, sandbox: str = "bwrap") -> str:
    """What is said; what was there stays as it was, for whoever gives the right options next."""
    before = path.read_bytes()
    with pytest.raises(JournalError) as error:
        opened(path.parent, run, resume=True, seed_given=seed_given, sandbox=sandbox)
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
    for data in (b"\xff\xfe\x00\x01\n", b"\x80\n"):
        path.write_bytes(data)
        assert "파일을 읽을 수 없어요" in refused(path)


def test_the_seed_of_the_killed_run_goes_on(tmp_path: Path, submissions: Class) -> None:
    """A seed that nobody asked for gives way: half a class on another seed would be two gradings in one."""
    path = killed_after(tmp_path / "out", submissions[0])
    journal, run = opened(tmp_path / "out", replace(RUN, seed=12345), resume=True)
    assert run == RUN
    assert journal.has(submissions[0])
    assert journal.result([submissions[0].student]).seed == 7
    journal.add(graded(submissions[1]))
    assert lines_of(path)[0] == SETUP


@pytest.mark.parametrize("other", ["seed", "device", "lessons", "only", "sandbox"])
def test_other_options_are_told_and_not_mixed(tmp_path: Path, submissions: Class, other: str) -> None:
    """The message holds the options to type; with them the run goes on."""
    path = killed_after(tmp_path / "out", submissions[0])
    changed = {
        "seed": replace(RUN, seed=8),
        "device": replace(RUN, device="cuda"),
        "only": replace(RUN, only=("train_step",)),
        "lessons": replace(RUN, lessons=(*RUN.lessons, replace(RUN.lessons[0], id="02"))),
        "sandbox": RUN,
    }[other]
    sandbox = "none" if other == "sandbox" else "bwrap"
    told = refused(path, changed, seed_given=True, sandbox=sandbox)
    assert "앞의 채점과 옵션이 달라요" in told
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
