"""The progress file: killed, broken, read-only, old and newer ones, several writers at once. Nothing kept is lost."""

import json
import os
import random
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base.installing import install_command
from grader.learner import store as storing
from grader.learner.event import LearnerEvent, events_of_json, happened
from grader.learner.progress import Progress
from grader.learner.store import FILE, MIGRATIONS, Store
from tests.places import ROOT

WRITER = """
import sys
from pathlib import Path
from grader.learner.event import happened
from grader.learner.store import Store

store = Store(Path(sys.argv[1]))
while True:
    event = happened("check", "train_step", passed=False, mistakes=["missing-zero-grad"])
    store.add([event])
    assert store.is_saved, store.notices
    print(event.id, flush=True)
"""
READER = """
import sys
from pathlib import Path
from grader.learner.store import Store

Store(Path(sys.argv[1])).read()
"""
LEGACY = {
    "exercises": {
        "train_step": {"passed": True, "checks": 3, "hints": 2},
        "fit": {"passed": False, "checks": 1, "hints": 0},
    },
    "predictions": {"01-3": "b"},
}


@pytest.fixture(autouse=True)
def _nothing_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "_UNSAVED", {})
    monkeypatch.setattr(storing, "_NOTICES", {})


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a kill takes nothing from it that it would leave on a disk."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def python(code: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def is_whole(folder: Path) -> bool:
    connection = sqlite3.connect(folder / FILE)
    try:
        return bool(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    finally:
        connection.close()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_writer_loses_nothing_it_was_told_is_kept(quick: Path) -> None:
    """Two notebooks write at once and are killed in the middle, time and again."""
    kept: set[str] = set()
    chance = random.Random(1)
    for _ in range(7):
        writers = [python(WRITER, quick) for _ in range(2)]
        said: list[list[str]] = [[], []]

        def listen(number: int, writer: subprocess.Popen[str], told: list[list[str]] = said) -> None:
            assert writer.stdout is not None
            told[number] += writer.stdout

        threads = [
            threading.Thread(target=listen, args=(number, writer)) for number, writer in enumerate(writers)
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 30
        while not all(said) and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(chance.random() * 0.03)
        for writer, thread in zip(writers, threads, strict=True):
            writer.kill()
            writer.wait()
            thread.join()
        kept |= {line.strip() for lines in said for line in lines if line.endswith("\n")}
        there = {event.id for event in Store(quick).read()}
        assert kept <= there
        assert is_whole(quick)
    assert len(kept) >= 14


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_kill_while_the_old_file_is_taken_over_leaves_the_old_or_the_new(quick: Path) -> None:
    exercises = {f"e{n}": {"passed": True, "checks": 40, "hints": 3} for n in range(100)}
    chance = random.Random(2)
    for number in range(8):
        folder = quick / str(number)
        folder.mkdir()
        (folder / "progress.json").write_text(json.dumps({"exercises": exercises}))
        child = python(READER, folder)
        while not (folder / FILE).exists() and child.poll() is None:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.02)
        child.kill()
        child.communicate()
        store = Store(folder)
        assert len(store.read()) == 4_300
        assert store.notices == []
        assert is_whole(folder)


def test_an_old_progress_json_is_taken_over_once_and_kept() -> None:
    old = Progress.path().with_name("progress.json")
    old.parent.mkdir(parents=True, exist_ok=True)
    old.write_text(json.dumps(LEGACY), encoding="utf-8")
    for _ in range(2):
        learner = Progress.load()
        assert learner.passed == {"train_step"}
        assert (learner.exercises["train_step"].checks, learner.exercises["train_step"].hints_shown) == (3, 2)
        assert learner.exercises["fit"].checks == 1
        assert learner.predictions == {"01-3": "b"}
        learner.record_hint("fit", 1)
        learner.forget("fit")
        learner.record_check("fit", passed=False)
    assert json.loads(old.read_text(encoding="utf-8")) == LEGACY


def test_a_progress_json_from_before_there_were_predictions_is_taken_over() -> None:
    assert [
        e.kind for e in events_of_json(b'{"exercises": {"fit": {"passed": true, "checks": 1}}}', 9.0)
    ] == ["check"]


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"{", b'{"exercises": 3}', b'{"exercises": {"fit": 1}}', b"\xff", b"[" * 100_000],
)
def test_an_old_file_that_is_none_is_left_alone(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "progress.json").write_bytes(text)
    store = Store(tmp_path)
    assert store.read() == []
    assert store.notices == []
    assert (tmp_path / "progress.json").read_bytes() == text


def test_an_old_file_with_absurd_counts_fills_no_disk() -> None:
    text = b'{"exercises": {"fit": {"passed": true, "checks": 1000000000000, "hints": 1000000000000}}}'
    assert len(events_of_json(text, 9.0)) == 2_000


def test_a_file_of_an_earlier_schema_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where the next step fails, everything is as it was before."""
    first = happened("hint", "fit", number=1)
    Store(tmp_path).add([first])
    monkeypatch.setattr(storing, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE more (x)", "no SQL"))
    broken = Store(tmp_path)
    assert broken._events_of_old_file() == []
    connection = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        broken._migrate(connection)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'more'").fetchall() == []
    connection.close()
    monkeypatch.setattr(storing, "MIGRATIONS", (*MIGRATIONS, "ALTER TABLE events ADD COLUMN machine TEXT"))
    second = happened("check", "fit", passed=True)
    Store(tmp_path).add([second])
    assert Store(tmp_path).read() == [first, second]
    connection = sqlite3.connect(tmp_path / FILE)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()


def test_a_file_of_a_later_version_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE later (x)"))
    Store(tmp_path).add([happened("hint", "fit", number=1)])
    before = (tmp_path / FILE).read_bytes()
    monkeypatch.setattr(storing, "MIGRATIONS", MIGRATIONS)
    store = Store(tmp_path)
    store.add([happened("hint", "fit", number=2)])
    assert [event.detail["number"] for event in store.read()] == [2]
    assert install_command(again="--upgrade") in store.notices[0]
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize("how", ["no database", "a torn page", "cut off", "another table", "no table"])
def test_a_broken_file_is_set_aside_and_told_of(tmp_path: Path, how: str) -> None:
    """What can still be read of it is taken over; the next notebook finds a whole file."""
    events = [happened("check", f"e{n}", passed=True, order="x" * 400) for n in range(60)]
    Store(tmp_path).add(events)
    path = tmp_path / FILE
    content = path.read_bytes()
    if how == "no database":
        path.write_bytes(b"this is a text" * 1_000)
    elif how == "a torn page":
        path.write_bytes(content[:20_480] + b"\xff" * 4_096 + content[24_576:])
    elif how == "cut off":
        path.write_bytes(content[: len(content) // 2])
    else:
        connection = sqlite3.connect(path)
        connection.execute("DROP TABLE events")
        if how == "another table":
            connection.execute("CREATE TABLE events (x)")
        connection.commit()
        connection.close()
    harmed = path.read_bytes()
    store = Store(tmp_path)
    more = happened("check", "fit", passed=True)
    store.add([more])
    saved = store.read()
    assert more in saved
    assert how != "a torn page" or (events[0] in saved and events[-1] in saved)
    assert set(map(repr, saved)) <= set(map(repr, [*events, more]))
    (line,) = store.take_notices()
    assert "깨져 있어 옆으로 옮겼어요" in line
    (aside,) = tmp_path.glob("*깨짐*")
    assert str(aside) in line
    assert aside.read_bytes() == harmed or how == "a torn page"  # into which the last event was still written
    assert is_whole(tmp_path)
    again = Store(tmp_path)
    assert again.read() == saved
    assert again.notices == []


def test_rows_that_are_no_events_count_as_none(tmp_path: Path) -> None:
    event = happened("check", "fit", passed=True)
    Store(tmp_path).add([event])
    connection = sqlite3.connect(tmp_path / FILE)
    for number, row in enumerate(
        [("x", "check", "fit", "{}"), (1.0, "", "fit", "{}"), (1.0, "check", "fit", "[")]
    ):
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (f"bad {number}", *row))
    connection.commit()
    connection.close()
    store = Store(tmp_path)
    assert store.read() == [event]
    assert store.notices == []


def test_a_place_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """What happens there is kept in memory, and written once it can be."""
    (tmp_path / "home").write_text("a file where the folder should be")
    store = Store(tmp_path / "home")
    first, second = happened("hint", "fit", number=1), happened("hint", "fit", number=2)
    store.add([first])
    assert Store(tmp_path / "home").read() == [first]
    assert not store.is_saved
    assert "grader doctor" in store.notices[0]
    (tmp_path / "home").unlink()
    Store(tmp_path / "home").add([second])
    assert Store(tmp_path / "home").is_saved
    storing._UNSAVED.clear()
    assert Store(tmp_path / "home").read() == [first, second]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_still_read(tmp_path: Path) -> None:
    event = happened("check", "fit", passed=True)
    Store(tmp_path).add([event])
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    (tmp_path / FILE).chmod(stat.S_IRUSR)
    try:
        store = Store(tmp_path)
        store.add([happened("hint", "fit", number=1)])
        assert len(store.read()) == 2
        assert not store.is_saved
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_a_lock_that_somebody_holds_is_waited_for_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "_BUSY_SECONDS", 0.2)
    store = Store(tmp_path)
    store.add([happened("hint", "fit", number=1)])
    holder = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    event = happened("hint", "fit", number=2)
    store.add([event])
    assert not store.is_saved
    holder.execute("ROLLBACK")
    holder.close()
    store.add([])
    assert store.is_saved
    assert event in Store(tmp_path).read()
    assert not list(tmp_path.glob("*깨짐*")), "a lock is no damage"


def test_events_have_one_order_everywhere(tmp_path: Path) -> None:
    events = [LearnerEvent(f"{n:02}", 5.0, "hint", "fit", {"number": n}) for n in range(20)]
    shuffled = random.Random(0).sample(events, len(events))
    Store(tmp_path).add(shuffled)
    assert Store(tmp_path).read() == events
