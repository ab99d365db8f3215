"""Progress goes from machine to machine, by way of the command line."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from grader.cli.main import run
from grader.learner.event import LearnerEvent
from grader.learner.progress import Progress


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Become another machine."""

    def become(name: str) -> Progress:
        monkeypatch.setenv("HANSTEP_HOME", str(tmp_path / name))
        return Progress.load()

    return become


def test_two_machines_come_to_the_same(machine, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    """In either direction and however often."""
    machine("a").record_check("train_step", passed=True)
    machine("b").record_check("fit", passed=False, mistakes=["missing-zero-grad"])
    machine("b").record_prediction("01-1", "b")
    for name in "ab":
        machine(name)
        assert run(["progress", "--export", str(tmp_path / f"{name}.json")]) == 0
    for name in "abba":
        machine(name)
        assert run(["progress", "--import", str(tmp_path / "a.json")]) == 0
        assert run(["progress", "--import", str(tmp_path / "b.json")]) == 0
    assert "이미 모두 들어 있어요" in capsys.readouterr().out
    a, b = machine("a").events, machine("b").events
    assert list(a) == list(b)
    assert len(a) == 3
    learner = machine("a")
    assert learner.passed == {"train_step"}
    assert learner.predictions == {"01-1": "b"}


def test_an_old_progress_json_can_be_imported_twice(machine, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    machine("a")
    old = tmp_path / "progress.json"
    old.write_text(json.dumps({"exercises": {"fit": {"passed": True, "checks": 2, "hints": 1}}}))
    for _ in range(2):
        assert run(["progress", "--import", str(old)]) == 0
    assert (machine("a").exercises["fit"].checks, machine("a").passed) == (2, {"fit"})


def one_event(fields: bytes) -> bytes:
    return b'{"schema": "hanstep.progress/1", "events": [{%s}]}' % fields


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "내보낸 파일이 아니에요"),
        (b"[" * 100_000, "내보낸 파일이 아니에요"),
        (one_event(b'"id": ""'), "내보낸 파일이 아니에요"),
        (one_event(b'"id": "a", "at": -1, "kind": "x", "what": "y"'), "내보낸 파일이 아니에요"),
        (one_event(b'"id": "\\ud800", "at": 1, "kind": "x", "what": "y"'), "내보낸 파일이 아니에요"),
        (b'{"schema": "hanstep.progress/9", "events": []}', "hanstep을 업데이트해"),
    ],
)
def test_a_file_that_is_no_progress_changes_nothing(  # type: ignore[no-untyped-def]
    machine, tmp_path: Path, capsys, text: bytes, told: str
) -> None:
    machine("a").record_check("fit", passed=True)
    before = list(machine("a").events)
    (tmp_path / "odd.json").write_bytes(text)
    assert run(["progress", "--import", str(tmp_path / "odd.json")]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert "odd.json" in said
    assert list(machine("a").events) == before


def test_what_cannot_be_opened_or_kept_is_told(machine, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    machine("a")
    assert run(["progress", "--import", str(tmp_path / "none.json")]) == 2
    assert "none.json: 읽지 못했어요" in capsys.readouterr().err
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.json")
        assert run(["progress", "--import", str(tmp_path / "pipe.json")]) == 2
    event = LearnerEvent("1", 1.0, "check", "fit", {"passed": True})
    document = {"schema": "hanstep.progress/1", "events": [event]}
    (tmp_path / "good.json").write_bytes(msgspec.json.encode(document))
    (tmp_path / "taken").write_text("")
    machine("taken")
    assert run(["progress", "--import", str(tmp_path / "good.json")]) == 2
    assert "가져오지 못했어요" in capsys.readouterr().err


def test_the_folder_can_be_named_on_the_command_line(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    assert run(["hint", "fit", "--data-dir", str(tmp_path / "here")]) == 0
    assert list((tmp_path / "here").iterdir()) == [Progress.path()]
    (tmp_path / "file").write_text("")
    assert run(["progress", "--data-dir", str(tmp_path / "file")]) == 2
    assert "--data-dir 폴더" in capsys.readouterr().err
