"""Change the instructor's files under a lock, and log who changed what, so that each change can be undone.

`overrides.csv` and `comments.csv` stay the truth. The log `desk.jsonl` only grows: an undone change is a further line.
Each change reads the files anew under the lock, so that several desks over one folder lose nothing.
"""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.base.errors import HanstepError
from grader.classroom.folder_lock import try_lock
from grader.gradebook.hand_files import HAND_FILES, HandFile, HandLine, Sheet

LOG = "desk.jsonl"
_LOCK = ".desk.lock"
_LOCK_SECONDS = 10.0
"""How long to wait for another desk; a change takes milliseconds."""
Edit = Callable[[Sheet], "Edited"]


class DeskError(HanstepError):
    """A request at the desk cannot be done; the message is Korean."""


@dataclass(frozen=True)
class Edited:
    """What one edit of a file did."""

    removed: Sequence[HandLine] = ()
    added: Sequence[HandLine] = ()
    left_alone: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Students whom the edit did not touch, by the reason: a key of `rubric.LEFT_ALONE`."""
    conflicts: int = 0
    """Number of lines that an undo left because somebody else has changed them since."""


@dataclass(frozen=True)
class Undone:
    """What undoing came to."""

    what: str
    """Kind of the undone change."""
    exercise: str
    conflicts: int = 0
    """Number of lines that somebody else has changed since; they stay."""
    key: str = ""
    """Group that the change was about; empty if none."""
    lines: Sequence[HandLine] = ()
    """Lines that the change wrote or, if it wrote none, removed."""


class Changes:
    """The files of one report, as one person changes them."""

    def __init__(self, out: Path, who: str) -> None:
        """Open the folder; nothing is read or written yet.

        Args:
            out: the report's folder.
            who: name of the person, for the log.
        """
        self._out, self.who = out, who

    def read(self, file: HandFile) -> list[HandLine]:
        """Return the lines of a file.

        Raises:
            TableError: it cannot be read.
        """
        return file.read(self._out).lines

    def edit(self, what: str, file: HandFile, edit: Edit, told: Mapping[str, Any]) -> Edited:
        """Edit a file and log the change; nothing is written if nothing changes.

        Args:
            what: kind of the change, for the log.
            file: the file.
            edit: removes lines from the sheet and adds lines to it; returns which.
            told: further fields for the log.

        Raises:
            DeskError: another process holds the lock for seconds.
            TableError: the file cannot be read.
            OSError: the file cannot be written.
        """
        with self.locked():
            sheet = file.read(self._out)
            done = edit(sheet)
            if done.removed or done.added:
                sheet.write()
                self._append(what, {**told, "file": file.name, **_lines_to_log(done)})
        return done

    def note(self, what: str, told: Mapping[str, Any]) -> None:
        """Log something that changes no file, such as that a group has been seen.

        Raises:
            DeskError: another process holds the lock for seconds.
            OSError: the log cannot be written.
        """
        with self.locked():
            self._append(what, told)

    def undo(self) -> Undone | None:
        """Undo this person's last change that has not been undone; None if there is none.

        A line that somebody else has changed since stays as it is.

        Raises:
            DeskError: another process holds the lock for seconds.
            TableError: the file cannot be read.
            OSError: the file cannot be written.
        """
        with self.locked():
            last = self._last_change()
            if last is None:
                return None
            conflicts = 0
            done = Edited()
            file = HAND_FILES.get(str(last.get("file")))
            if file is not None:
                sheet = file.read(self._out)
                done = _reversed(sheet, _lines_of(last, "before"), _lines_of(last, "after"))
                conflicts = done.conflicts
                if done.removed or done.added:
                    sheet.write()
            told = {"undoes": last["id"], "exercise": last.get("exercise", ""), "key": last.get("key", "")}
            named = {} if file is None else {"file": file.name}
            self._append("undo", {**told, **named, **_lines_to_log(done)})
        lines = _lines_of(last, "after") or _lines_of(last, "before")
        return Undone(
            str(last["what"]), str(last.get("exercise", "")), conflicts, str(last.get("key", "")), lines
        )

    def events(self) -> list[dict[str, Any]]:
        """Return the log's entries in order; lines that are not entries are passed over."""
        try:
            data = (self._out / LOG).read_bytes()
        except FileNotFoundError:
            return []
        return list(_entries(data))

    def size(self) -> int:
        """Return the log's size in bytes: it has grown if anybody changed something."""
        try:
            return (self._out / LOG).stat().st_size
        except FileNotFoundError:
            return 0

    def _last_change(self) -> dict[str, Any] | None:
        events = self.events()
        undone = {event.get("undoes") for event in events}
        mine = [e for e in events if e["who"] == self.who and e["what"] != "undo" and e["id"] not in undone]
        return mine[-1] if mine else None

    def _append(self, what: str, told: Mapping[str, Any]) -> None:
        entry = {
            "id": secrets.token_hex(6),
            "when": datetime.now().astimezone().isoformat(timespec="seconds"),
            "who": self.who,
            "what": what,
            **told,
        }
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        path = self._out / LOG
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        try:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":  # killed while it wrote a line
                line = b"\n" + line
            os.write(fd, line)
            os.fsync(fd)
        finally:
            os.close(fd)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock under which the files are changed.

        Raises:
            DeskError: another process holds it for seconds.
        """
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        fd = os.open(self._out / _LOCK, flags, 0o644)
        try:
            until = time.monotonic() + _LOCK_SECONDS
            while not try_lock(fd):
                if time.monotonic() > until:
                    raise DeskError(
                        f"다른 프로세스가 {self._out}의 파일을 오래 붙잡고 있어요. 잠시 뒤에 다시 해 주세요."
                    )
                time.sleep(0.01)
            yield
        finally:
            os.close(fd)


def _lines_to_log(done: Edited) -> dict[str, Any]:
    return {
        "before": [line.as_document() for line in done.removed],
        "after": [line.as_document() for line in done.added],
    }


def _lines_of(entry: Mapping[str, Any], name: str) -> list[HandLine]:
    try:
        return [HandLine(**line) for line in entry.get(name, ())]
    except TypeError:  # somebody edited the log
        return []


def _entries(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and all(
            isinstance(entry.get(name), str) for name in ("id", "who", "what")
        ):
            yield entry


def _reversed(sheet: Sheet, before: Sequence[HandLine], after: Sequence[HandLine]) -> Edited:
    """Take back a change of a sheet; what somebody changed since is left alone."""
    changed_since = {_whose(line) for line in after if line not in sheet.lines}
    removed = [line for line in after if _whose(line) not in changed_since and sheet.remove(line)]
    # A line that was removed is put back only if nothing new stands for the same student and exercise, except changes
    # beside changes.
    added = []
    for line in before:
        beside = [other for other in sheet.lines if _whose(other) == _whose(line)]
        fits = line not in beside and (not line.score or _may_stand_beside(line, beside))
        if _whose(line) not in changed_since and fits:
            sheet.add(line)
            added.append(line)
        else:
            changed_since.add(_whose(line))
    return Edited(removed, added, conflicts=len(changed_since))


def _whose(line: HandLine) -> tuple[str, str, str]:
    return line.id, line.name, line.exercise


def _may_stand_beside(line: HandLine, others: Sequence[HandLine]) -> bool:
    return all(is_change(other.score) for other in (line, *others)) if others else True


def is_change(score: str) -> bool:
    """True if the score is written as points to add or to take away."""
    return score.startswith(("+", "-", "\N{MINUS SIGN}", "＋", "－"))
