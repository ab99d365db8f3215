"""Files that version 0.2.0 wrote are read by this one: a learner's progress and what comes back in the clinic."""

import shutil
from datetime import date, timedelta
from pathlib import Path

import pytest

from grader.course.reading import load_course
from grader.learner.progress import Progress
from grader.practice.schedule import appointments

OLD = Path(__file__).with_name("old") / "progress-0.2.0.sqlite3"
"""Written by 0.2.0's own commands: a failed check, a passed one, a hint, and a case of the clinic."""


def test_progress_of_0_2_0_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANSTEP_HOME", str(tmp_path))
    shutil.copy(OLD, tmp_path / "progress.sqlite3")
    learner = Progress.load()
    assert [event.kind for event in learner.events] == [
        *("check", "check", "achievement", "achievement", "hint", "clinic"),
    ]
    done = learner.history.exercise("train_step")
    assert done.passed
    assert learner.history.exercise("accumulate").hints_shown == 1
    due = {(a.exercise, a.mistake): a.due for a in appointments(learner.events, load_course())}
    day_after = date.fromtimestamp(learner.events[-1].at) + timedelta(days=1)  # days begin where one lives
    assert due == {
        ("train_step", "missing-zero-grad"): day_after,
        ("train_step", "missing-backward"): day_after,
    }
