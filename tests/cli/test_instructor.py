"""From a download to a CSV for the LMS, by the commands that README shows; and what goes wrong on the way."""

import csv
import io
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from openpyxl import Workbook

from grader.base.installing import repository
from grader.cli.class_inputs import ROSTER, given_or_kept, keep_files
from grader.cli.main import run
from grader.report.results import from_json
from grader.report.write_report import write_report
from tests.gradebook import graded
from tests.intake import downloads
from tests.places import ROOT
from tests.report import samples

Ended = Callable[..., tuple[int, str]]
SGD = (ROOT / "tests" / "accepted" / "sgd_update" / "copy.py").read_text(encoding="utf-8")


@pytest.fixture
def ended(capfd: pytest.CaptureFixture[str]) -> Ended:
    """A command's exit status, and what it printed."""

    def ended(*arguments: object) -> tuple[int, str]:
        status = run([str(argument) for argument in arguments])
        printed = capfd.readouterr()
        return status, printed.out + printed.err

    return ended


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report of three, one in no roster, and somebody who handed in nothing."""
    write_report(tmp_path / "report", graded.a_class(), samples.course())
    return tmp_path / "report"


@pytest.mark.sandbox
def test_from_canvas_and_back(ended: Ended, tmp_path: Path) -> None:
    """A roster from Excel, a late one, a nested archive, one by hand; then another policy without a regrade."""
    files = {
        "김하늘_101_9001_hw.zip": downloads.packed({"hw/hw.py": SGD}),
        "이서준_LATE_102_9002_hw.py": SGD,
        "박지우_103_9003_hw.py": "def sgd_update(): return 1\n",
    }
    (tmp_path / "submissions.zip").write_bytes(downloads.packed(files))
    (tmp_path / "roster.csv").write_bytes(downloads.ROSTER.encode("cp949"))
    (tmp_path / "policy.toml").write_text('out_of = 100\n[late]\nmarked = 50\n[drop]\nexercises = ["fit"]\n')
    (tmp_path / "overrides.csv").write_bytes(
        "학번,연습,점수,까닭\n20240003,전체,42,구두 시험\n".encode("cp949")
    )
    out = tmp_path / "report"
    chosen = ("--lesson", "01", "--out", out, "--seed", "7")
    rules = ("--policy", tmp_path / "policy.toml", "--override", tmp_path / "overrides.csv")
    code, said = ended(
        "grade", tmp_path / "submissions.zip", "--roster", tmp_path / "roster.csv", *rules, *chosen
    )
    assert code == 0, said
    assert "Canvas에서 내려받은 폴더로 알아보았어요: 3명" in said
    assert "제출물이 없는 학생: 20240004 정도윤" in said

    def exported() -> dict[str, str]:
        assert ended("export", out, "--to", "canvas", "--assignment", "과제 1 (777)")[0] == 0
        lines = list(csv.reader(io.StringIO((out / "canvas.csv").read_text(encoding="utf-8"))))
        assert lines[0][-1] == "과제 1 (777)"
        return {line[2]: line[5] for line in lines[2:]}

    first = exported()
    assert first["20240003"] == "42"
    assert float(first["20240002"]) == pytest.approx(float(first["20240001"]) / 2, abs=0.01)
    measured = [s.score for s in from_json((out / "results.json").read_bytes()).submissions]

    (tmp_path / "new.toml").write_text("out_of = 100\n")
    code, said = ended("mark", out, "--policy", tmp_path / "new.toml")
    assert code == 0, said
    assert "전에 쓴 파일을 다시 써요" in said
    second = exported()
    assert second["20240003"] == "42", "kept, though the command did not name it again"
    assert second["20240002"] == second["20240001"]
    assert [s.score for s in from_json((out / "results.json").read_bytes()).submissions] == measured

    code, said = ended("grade", tmp_path / "submissions.zip", *chosen)
    assert code == 0, said
    assert exported() == second, (
        "a regrade finds roster, policy and marks by hand where the first run kept them"
    )


def test_only_the_exercises_that_were_set_are_graded(ended: Ended, tmp_path: Path) -> None:
    """Nobody reads that an exercise nobody was to do is missing, and the full mark is theirs."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "김하늘.py").write_text(SGD, encoding="utf-8")
    arguments = ("grade", tmp_path / "class", "--out", tmp_path / "out", "--sandbox", "none", "--seed", "7")
    code, said = ended(*arguments, "--exercise", "sgd_update")
    assert code == 0, said
    assert "모두 통과 1명" in said
    (student,) = from_json((tmp_path / "out" / "results.json").read_bytes()).submissions
    assert [f.exercise for f in student.feedbacks] == ["sgd_update"]
    assert student.score == student.max_score
    assert "zero_gradients" not in (tmp_path / "out" / "feedback" / "김하늘.html").read_text(encoding="utf-8")
    assert ended(*arguments, "--changed-only")[0] == 0, "graded as before, without naming the exercise again"
    code, said = ended(*arguments, "--changed-only", "--exercise", "sgd_update,fit")
    assert code == 2
    assert "--lesson 01 --exercise sgd_update" in said
    (tmp_path / "policy.toml").write_text('[drop]\nexercises = ["fit"]\n')
    code, said = ended(*arguments, "--exercise", "sgd_update", "--policy", tmp_path / "policy.toml")
    assert code == 0, "the course knows the exercise, though nobody is asked about it"


def test_rules_of_the_desk_that_fit_no_more_are_told(ended: Ended, report: Path) -> None:
    """The second passed after grading again, and the third is not there; one's own line has no rule to fit."""
    (report / "overrides.csv").write_text(
        "학번,연습,점수,까닭,규칙\n"
        "20240002,fit,+1,부분 점수,실수:missing-zero-grad\n"
        "20240001,train,+1,부분 점수,실수:missing-zero-grad\n"
        "20240002,train,9,구두 시험,\n20240003,train_step,1,결석,\n",
        encoding="utf-8",
    )
    (report / "comments.csv").write_text(
        "학번,연습,코멘트,규칙\n20240001,fit,잘했어요,묶음:0123456789\n", encoding="utf-8"
    )
    code, said = ended("mark", report)
    assert code == 0, said
    assert "더는 맞지 않는 줄 2개: fit 2줄. 점수에는 그대로 들어 있어요." in said
    assert f"grader desk {report}" in said
    (report / "comments.csv").unlink()
    (report / "overrides.csv").write_text(
        "학번,연습,점수,까닭\n20240002,fit,+1,부분 점수\n", encoding="utf-8"
    )
    assert "맞지 않는" not in ended("mark", report)[1]


def test_a_deadline_without_times_is_told(ended: Ended, report: Path, tmp_path: Path) -> None:
    class_ = graded.a_class()
    in_time = tuple(replace(s, late=False) for s in class_.submissions)
    write_report(report, replace(class_, submissions=in_time), samples.course())
    (tmp_path / "policy.toml").write_text("[late]\ndeadline = 2026-03-20T23:59:00\nper_day = 10\n")
    code, said = ended("mark", report, "--policy", tmp_path / "policy.toml")
    assert code == 0, said
    assert "언제 냈는지 몰라서 제때 낸 것으로 센 학생 3명: 20240001_김하늘" in said
    assert "--roster로 주고 다시 채점해 주세요." in said


def test_each_export_is_written_beside_the_results(ended: Ended, report: Path) -> None:
    for to, file in (("canvas", "canvas.csv"), ("moodle", "moodle.csv"), ("junit", "junit.xml")):
        code, said = ended("export", report, "--to", to)
        assert code == 0
        assert str(report / file) in said
        assert (report / file).stat().st_size > 100
    code, said = ended("export", report, "--to", "canvas")
    assert "넣지 못한 학생: 누구" in said


def test_github_gets_a_summary_and_notices(ended: Ended, report: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    code, said = ended("export", report, "--to", "github", "--file", summary)
    assert code == 0
    assert said.splitlines()[1] == '::notice title=Autograding report::{"totalPoints":47,"maxPoints":60}'
    assert summary.read_text(encoding="utf-8").startswith("before\n## 채점 결과")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--to", "blackboard"), "--to에는"),
        (("--to", "junit", "--template", "x.csv"), "--template은"),
        (("--column", "HW"), "--column은"),
        (("--overwrite",), "--overwrite는"),
        (("--template", "nowhere.csv"), "Canvas 성적표 파일을 읽을 수 없어요"),
    ],
)
def test_exports_that_make_no_sense_are_said(
    ended: Ended, report: Path, arguments: tuple[str, ...], said: str
) -> None:
    code, printed = ended("export", report, *arguments)
    assert code == 2
    assert said in printed
    assert "Traceback" not in printed


def test_a_gradebook_that_excel_has_saved_comes_back_as_what_the_system_reads(
    ended: Ended, report: Path, tmp_path: Path
) -> None:
    gradebook = tmp_path / "grades.csv"
    gradebook.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,과제 1 (777)\n    Points Possible,,,,,20\n"
        "이서준,102,20240002,,B,\n",
        encoding="cp949",
    )
    code, said = ended("export", report, "--template", gradebook)
    assert code == 0
    assert "받은 표의 인코딩은 cp949인데, LMS가 읽는 UTF-8로 저장했어요." in said
    assert "이서준" in (report / "canvas.csv").read_text(encoding="utf-8-sig")


def test_a_gradebook_says_what_changes_and_keeps_what_is_there(
    ended: Ended, report: Path, tmp_path: Path
) -> None:
    gradebook = tmp_path / "grades.csv"
    gradebook.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,과제 1 (777)\n    Points Possible,,,,,20\n"
        "김하늘,101,20240001,,A,EX\n이서준,102,20240002,,B,\n",
        encoding="utf-8",
    )
    code, said = ended("export", report, "--template", gradebook)
    assert code == 0
    assert "빈칸에 적은 점수 1명, 바꾼 점수 0명, 그대로 둔 점수 1명 (면제(EX) 1명)" in said
    assert "김하늘 20240001: EX → 15 (그대로 둠)" in said
    assert "--overwrite를 더해" in said
    code, said = ended("export", report, "--template", gradebook, "--overwrite")
    assert "바꾼 점수 1명, 그대로 둔 점수 0명" in said
    assert "김하늘 20240001: EX → 15\n" in said
    code, said = ended("export", report, "--template", gradebook, "--column", "SIS User ID")
    assert code == 2
    assert "과제의 점수가 아니라서" in said


def test_mark_with_extensions_tells_old_files_with_their_age(
    ended: Ended, report: Path, tmp_path: Path
) -> None:
    extensions = tmp_path / "extensions.csv"
    extensions.write_text("학번,면제,까닭\n20240001,o,병가\n20240003,o,휴학\n", encoding="utf-8")
    twelve_days_ago = time.time() - 12 * 86_400 - 60
    os.utime(extensions, (twelve_days_ago, twelve_days_ago))
    code, said = ended("mark", report, "--extensions", extensions)
    assert code == 0, said
    assert "면제는 2명이에요" in said
    code, said = ended("mark", report)
    assert code == 0, said
    assert "extensions.csv (" in said
    assert "에 저장, 12일 전)" in said
    assert "면제는 2명이에요" in said
    page = (report / "feedback" / "20240001_김하늘.html").read_text(encoding="utf-8")
    assert "최종 점수 면제" in page
    assert "면제예요. 병가" in page
    assert '"면제"' in (report / "gradebook.csv").read_text(encoding="utf-8-sig")


def test_a_workbook_is_kept_as_one_and_used_again(tmp_path: Path) -> None:
    """Under a name with which Excel opens it; what was kept before is no second roster."""
    book = tmp_path / "명단.xlsx"
    Workbook().save(book)
    (tmp_path / "old.csv").write_text("학번,이름\n", encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    keep_files(out, {ROSTER: tmp_path / "old.csv"})
    keep_files(out, {ROSTER: book})
    assert given_or_kept(out, {ROSTER: None}) == {ROSTER: out / "roster.xlsx"}
    keep_files(out, {ROSTER: tmp_path / "old.csv"})
    assert given_or_kept(out, {ROSTER: None}) == {ROSTER: out / "roster.csv"}


def test_no_results_yet(ended: Ended, tmp_path: Path) -> None:
    for command in ("mark", "export"):
        code, said = ended(command, tmp_path / "report")
        assert code == 2
        assert "먼저 채점해 주세요: grader grade" in said


def test_wrong_rules_are_said_before_anything_is_graded(ended: Ended, tmp_path: Path) -> None:
    folder = downloads.write(tmp_path / "class", {"a.py": SGD})
    (tmp_path / "overrides.csv").write_text("학번,연습,점수,까닭\n없음,train_step,1,x\n", encoding="utf-8")
    code, said = ended("grade", folder, "--out", tmp_path / "out", "--override", tmp_path / "overrides.csv")
    assert code == 2
    assert "이 학생을 찾지 못했어요: '없음'" in said
    assert not (tmp_path / "out" / "results.json").exists()
    assert not (tmp_path / "out" / "overrides.csv").exists(), "what cannot be used is not kept"


def test_similar_writes_a_page(ended: Ended, tmp_path: Path) -> None:
    odd = """def odd(rows):
    pot = [r for r in rows if r % 7 == 3 or r // 5 > 2]
    return sorted(pot)[::-2], max(pot)
"""
    folder = downloads.write(
        tmp_path / "class",
        {"a.py": odd, "b.py": odd.replace("pot", "kettle").replace("rows", "x"), "c.py": SGD},
    )
    code, said = ended("similar", folder, "--out", tmp_path / "similar.html")
    assert code == 0, said
    assert "100%  a (a.py 1)  b (b.py 1)" in said
    assert "판정이 아니라" in (tmp_path / "similar.html").read_text(encoding="utf-8")


def test_autograder_files(ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ended("autograder", "gradescope", "--lesson", "1")[0] == 0
    assert (tmp_path / "autograder.zip").stat().st_size > 10_000
    code, said = ended("autograder", "github")
    assert (code == 0) == bool(repository()), (
        "while nobody has said where the course lives, pip has nothing to install"
    )
    if code:
        assert "--install git+https://github.com/주인/이름" in said
    assert ended("autograder", "github", "--install", "git+https://github.com/o/n")[0] == 0
    assert (tmp_path / ".github" / "workflows" / "classroom.yml").is_file()
    assert ended("autograder", "moodle")[0] == 2
    assert ended("autograder", "gradescope", "--lesson", "99")[0] == 2


def test_results_of_a_class_with_marks_are_read_back(report: Path) -> None:
    document = json.loads((report / "results.json").read_text(encoding="utf-8"))
    assert document["absent"][0]["person"]["name"] == "박지우"
    assert document["submissions"][0]["person"]["canvas_id"] == "101"
    assert document["submissions"][1]["late"] is True
    assert from_json((report / "results.json").read_bytes()) == graded.a_class()


def test_a_penalty_for_lateness_is_told_before_the_system_takes_one_too(ended: Ended, report: Path) -> None:
    (report / "policy.toml").write_text("[late]\nmarked = 25\n")
    assert ended("mark", report)[0] == 0
    _, said = ended("export", report, "--to", "canvas", "--assignment", "과제 1 (777)")
    assert "지각으로 이미 점수를 뺀 학생 1명이에요. Canvas에도" in said
    (report / "policy.toml").write_text("[late]\nby_system = true\n")
    assert ended("mark", report)[0] == 0
    _, said = ended("export", report, "--to", "canvas", "--assignment", "과제 1 (777)")
    assert "지각" not in said
