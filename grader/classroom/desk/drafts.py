"""Keep what somebody typed at the desk and has not written yet, so that it outlives page, browser, port and server.

A file beside the marks holds all drafts: by person, then by what the draft is about, the oldest first.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from grader.base.files import write_whole
from grader.classroom.desk.changes import Changes, DeskError

NAME = "desk-drafts.json"
_FIELDS = ("score", "text", "title", "exercise", "group", "person", "student", "scope", "target")
_MOST_CHARACTERS = 4_000
"""Maximum length of a field; the page lets nobody type more than half of it."""
_MOST_DRAFTS = 100
"""Maximum drafts of one person; the oldest are dropped."""
_Kept = dict[str, dict[str, dict[str, str]]]


class Drafts:
    """The drafts of one person over one report."""

    def __init__(self, out: Path, changes: Changes) -> None:
        """Take the folder; nothing is read yet.

        Args:
            out: the report's folder.
            changes: who writes, and the lock under which files are changed.
        """
        self._path, self._changes = out / NAME, changes

    def all(self) -> dict[str, dict[str, str]]:
        """Return this person's drafts by what they are about, the latest last.

        Raises:
            OSError: the file cannot be read.
        """
        return _read(self._path).get(self._changes.who, {})

    def keep(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the draft that a request brings in place of the one before; without one, remove that.

        Raises:
            DeskError: the request cannot be meant, or another process holds the lock for seconds.
            OSError: the file cannot be read or written.
        """
        key, draft = request.get("key"), request.get("draft")
        if not isinstance(key, str) or not key or len(key) > _MOST_CHARACTERS:
            raise DeskError("무엇에 관한 글인지 알 수 없어요. 페이지를 새로 고쳐 주세요.")
        with self._changes.locked():
            kept = _read(self._path)
            own = kept.setdefault(self._changes.who, {})
            own.pop(key, None)
            if isinstance(draft, dict):
                own[key] = _only_texts(draft)
            for oldest in list(own)[:-_MOST_DRAFTS]:
                del own[oldest]
            _write(self._path, kept)
        return {}


def remove_drafts_naming(out: Path, words: Collection[str]) -> None:
    """Remove everybody's drafts in which one of these words stands; the caller holds the lock.

    Raises:
        OSError: the file cannot be read or written.
    """
    kept = _read(out / NAME)
    for drafts in kept.values():
        for key in [
            key for key, draft in drafts.items() if any(w in v for w in words for v in draft.values())
        ]:
            del drafts[key]
    _write(out / NAME, kept)


def _read(path: Path) -> _Kept:
    """Return everybody's drafts; what is no draft is passed over."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):  # somebody edited the file
        return {}
    people = found.items() if isinstance(found, dict) else ()
    return {
        who: {key: _only_texts(draft) for key, draft in drafts.items() if isinstance(draft, dict)}
        for who, drafts in people
        if isinstance(drafts, dict)
    }


def _write(path: Path, kept: _Kept) -> None:
    """Write everybody's drafts; without any, the file is removed."""
    left = {who: drafts for who, drafts in kept.items() if drafts}
    if left:
        write_whole(path, json.dumps(left, ensure_ascii=True, indent=1).encode())
    else:
        path.unlink(missing_ok=True)


def _only_texts(draft: Mapping[str, Any]) -> dict[str, str]:
    return {name: draft[name][:_MOST_CHARACTERS] for name in _FIELDS if isinstance(draft.get(name), str)}
