"""Store progress in one SQLite file of events that are only ever added, so that no crash and no merge loses any.

    write: one transaction, on the disk when `add` returns     disk trouble: kept in memory, written with the next
    older file, progress.json: converted at opening            broken file: set aside, readable events are taken over

Nothing here raises because of the disk: a lesson goes on without recorded progress.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from grader.base.installing import install_command
from grader.learner.event import LearnerEvent, events_of_json, in_order

FILE = "progress.sqlite3"
_LEGACY = "progress.json"
_BUSY_SECONDS = 5.0
"""Seconds a notebook waits for other writers; a write takes milliseconds, on a slow disk tenths of a second."""

# The n-th entry (from 0) upgrades a file from version n (SQLite's `user_version`) to n + 1. A released entry is never
# changed; append a new one.
MIGRATIONS: tuple[str, ...] = (
    """CREATE TABLE events (
        id TEXT PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL
    )""",
)
_SELECT = "SELECT id, at, kind, what, detail FROM events"
_INSERT = "INSERT OR IGNORE INTO events (id, at, kind, what, detail) VALUES (?, ?, ?, ?, ?)"

_UNSAVED: dict[Path, dict[str, LearnerEvent]] = {}
"""Events that the disk refused, by file; kept as long as this process lives."""

_NOTICES: dict[Path, list[str]] = {}
"""Messages not shown yet, by file.

They are kept because the call that meets the trouble, say a prediction, may have no place to show a message.
"""

_Result = TypeVar("_Result")


class _NewerFile(Exception):
    """The file was written by a later version of this package."""


class Store:
    """The events in one folder's file.

    Each call opens the file anew, because notebooks fork and several of them are open at once.
    """

    def __init__(self, folder: Path) -> None:
        """Store the path; nothing is opened yet."""
        self.path = folder / FILE

    @property
    def is_saved(self) -> bool:
        """True if the disk has accepted all events."""
        return self.path not in _UNSAVED

    @property
    def notices(self) -> list[str]:
        """Korean messages about trouble with the file that have not been shown to the learner yet."""
        return _NOTICES.setdefault(self.path, [])

    def take_notices(self) -> list[str]:
        """Return the messages and forget them; the caller shows them."""
        return _NOTICES.pop(self.path, [])

    def read(self) -> list[LearnerEvent]:
        """Return all events in order, including those that could not be written."""
        found = self._on_disk(lambda connection: dict(_events(connection.execute(_SELECT)))) or {}
        return in_order(found | _UNSAVED.get(self.path, {}))

    def add(self, events: Iterable[LearnerEvent]) -> None:
        """Keep events; those with an id that is stored already change nothing."""
        waiting = _UNSAVED.pop(self.path, {}) | {event.id: event for event in events}

        def write(connection: sqlite3.Connection) -> bool:
            with _transaction(connection):
                _insert(connection, waiting.values())
            return True

        if waiting and not self._on_disk(write):
            _UNSAVED[self.path] = waiting

    def _on_disk(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result | None:
        """Run `work` on the open file; if that fails, record a message and return None."""
        for again in (True, False):
            try:
                with self._open() as connection:
                    return work(connection)
            except _NewerFile:
                self._tell(
                    f"더 새로운 버전의 hanstep이 쓴 진도 파일이라 건드리지 않았어요: {self.path}. "
                    f"업데이트해 주세요: {install_command(again='--upgrade')}"
                )
                return None
            except (sqlite3.Error, OSError) as error:
                if not (again and _is_broken(error) and self._set_aside()):
                    self._tell(
                        f"진도 파일에 쓰거나 읽지 못했어요: {self.path} ({error}). "
                        "그동안의 진도는 이 창이 열려 있는 동안만 남아요. 까닭은 grader doctor로 볼 수 있어요."
                    )
                    return None
        return None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # A rollback journal instead of WAL: home may be on a network drive, and a single file can be copied as it is.
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            if _version(connection) != len(MIGRATIONS):
                self._migrate(connection)
            yield connection
        finally:
            connection.close()

    def _migrate(self, connection: sqlite3.Connection) -> None:
        with _transaction(connection):
            version = _version(connection)  # another process may have migrated it just now
            if version > len(MIGRATIONS):
                raise _NewerFile
            for number in range(version, len(MIGRATIONS)):
                connection.execute(MIGRATIONS[number])
            if version == 0:
                _insert(connection, self._events_of_old_file())
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _events_of_old_file(self) -> list[LearnerEvent]:
        path = self.path.with_name(_LEGACY)
        try:
            return events_of_json(path.read_bytes(), path.stat().st_mtime)
        except OSError:
            return []

    def _set_aside(self) -> bool:
        """Rename the broken file and its journal, and take over the readable events; False if renaming failed."""
        aside = self.path.with_name(
            f"{self.path.stem}-깨짐-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns()}"
        )
        with suppress(OSError):
            journal = self.path.with_name(f"{FILE}-journal")
            journal.rename(aside.with_name(f"{aside.name}{self.path.suffix}-journal"))
        aside = aside.with_name(aside.name + self.path.suffix)
        try:
            self.path.rename(aside)
        except FileNotFoundError:  # another process was quicker
            return True
        except OSError:
            return False
        saved = _salvaged(aside)
        _UNSAVED[self.path] = _UNSAVED.get(self.path, {}) | saved
        self.add(())
        self._tell(
            f"진도 파일이 깨져 있어 옆으로 옮겼어요: {aside}. "
            + (f"읽을 수 있던 기록 {len(saved):,}개는 되살렸어요." if saved else "새 파일로 다시 시작해요.")
        )
        return True

    def _tell(self, line: str) -> None:
        if line not in self.notices:
            self.notices.append(line)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _insert(connection: sqlite3.Connection, events: Iterable[LearnerEvent]) -> None:
    rows = ((e.id, e.at, e.kind, e.what, msgspec.json.encode(e.detail).decode()) for e in events)
    connection.executemany(_INSERT, rows)


def _events(rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[str, LearnerEvent]]:
    """Yield the rows that are valid events; skip others, such as rows written by hand."""
    for id_, at, kind, what, detail in rows:
        try:
            details = msgspec.json.decode(str(detail))
            event = msgspec.convert(
                {"id": id_, "at": at, "kind": kind, "what": what, "detail": details}, type=LearnerEvent
            )
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue
        yield event.id, event


def _salvaged(path: Path) -> dict[str, LearnerEvent]:
    """Return the readable events of a broken file.

    It is read from the start to the broken place, and from the end back to it.
    """
    found: dict[str, LearnerEvent] = {}
    for direction in ("ASC", "DESC"):
        with suppress(sqlite3.Error, OSError), closing(sqlite3.connect(path)) as connection:
            for id_, event in _events(connection.execute(f"{_SELECT} ORDER BY rowid {direction}")):
                found[id_] = event
    return found


def _is_broken(error: Exception) -> bool:
    """Return True if the file's content is at fault, and not the disk, a lock or a permission."""
    broken = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH)
    return getattr(error, "sqlite_errorcode", -1) & 0xFF in broken
