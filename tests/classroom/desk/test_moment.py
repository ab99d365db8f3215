"""Marks and lines are computed once for all views, and anew as soon as a file says something else."""

from pathlib import Path
from typing import Any

import pytest

from grader.classroom.desk import moment
from grader.classroom.desk.desk import Desk
from grader.cli.desk import rules_in
from tests.classroom.desk.running import class_of, right, write_class, wrong
from tests.report import samples
from tests.report.samples import MISSING_ZERO_GRAD

LINE = "학번,연습,점수,까닭\n20260001,train_step,{score},말로 물어봄\n"


class Counted:
    """Reads the rules, and counts how often."""

    def __init__(self, out: Path) -> None:
        self.out, self.times = out, 0

    def __call__(self) -> Any:
        self.times += 1
        return rules_in(self.out)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    answers = [(wrong("train_step", MISSING_ZERO_GRAD), right("fit"))] * 2
    write_class(tmp_path / "report", class_of(*answers), tmp_path / "work")
    return tmp_path / "report"


def points(desk: Desk) -> str:
    return str(desk.exercise("train_step")["groups"][0]["points"])


def test_views_read_the_rules_once(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moment, "_SECONDS", 10**9)  # no change of the clock between the views
    rules = Counted(out)
    desk = Desk(out, "조교", tuple(samples.EXERCISES), rules, anonymous=False)
    key = desk.exercise("train_step")["groups"][0]["key"]
    desk.overview()
    desk.answers("train_step", key, 0)
    desk.found("학생1")
    desk.student(desk.found("학생1")["students"][0]["id"])
    desk.see("train_step", key)
    desk.exercise("train_step")
    assert rules.times == 1


def test_what_is_edited_beside_the_desk_is_seen_at_once(out: Path) -> None:
    desk = Desk(out, "조교", tuple(samples.EXERCISES), Counted(out), anonymous=False)
    assert points(desk) == "1/4점"
    overrides = out / "overrides.csv"
    overrides.write_text(LINE.format(score="+1"), encoding="utf-8")
    assert points(desk) == "1 → 1~2/4점"
    overrides.write_text(LINE.format(score="+2"), encoding="utf-8")  # as long as before
    assert points(desk) == "1 → 1~3/4점"
    overrides.write_text(LINE.format(score="viele"), encoding="utf-8")
    assert "overrides.csv" in desk.overview()["problem"]
    overrides.unlink()
    (out / "policy.toml").write_text("[points]\ntrain_step = 8\n", encoding="utf-8")
    assert desk.overview()["problem"] == ""
    assert points(desk) == "2/8점"


def test_a_deadline_that_passes_is_seen_though_no_file_changes(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = Counted(out)
    desk = Desk(out, "조교", tuple(samples.EXERCISES), rules, anonymous=False)
    desk.overview()
    before = rules.times
    monkeypatch.setattr(moment.time, "time", lambda: 4_000_000_000.0)
    desk.overview()
    assert rules.times == before + 1
