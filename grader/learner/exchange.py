"""Move progress between machines: `grader progress --export` writes a JSON file, `--import` merges it.

Merging is the union of events by id, so the result does not depend on the order or number of merges.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from grader.base.errors import HanstepError
from grader.base.files import open_regular, write_whole
from grader.base.installing import install_command
from grader.learner.event import LearnerEvent, events_of_json
from grader.learner.progress import Progress

SCHEMA = "hanstep.progress/1"
_MOST_BYTES = 64 * 2**20
"""Maximum size of an imported file; a year of ten hours a day is below 20 MB."""
_EXPORT = "grader progress --export 진도.json"


class ExchangeError(HanstepError):
    """The file cannot be read as progress, or the imported events cannot be saved."""


class _ExportedFile(Struct, forbid_unknown_fields=True):
    """An exported file."""

    schema: str
    events: list[LearnerEvent]


def export_progress(file: Path) -> int:
    """Write all events into a file.

    Returns:
        Number of events.

    Raises:
        OSError: the file cannot be written.
    """
    events = Progress.load().events
    document = {"schema": SCHEMA, "events": events}
    write_whole(file, msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    return len(events)


def import_progress(file: Path) -> int:
    """Merge the events of a file from another machine; a `progress.json` of versions up to 0.2 works too.

    Returns:
        Number of new events.

    Raises:
        ExchangeError: it is no such file, or the progress file here cannot be written.
    """
    events = _read(file)
    learner = Progress.load()
    before = len(learner.events)
    learner.record(events)
    if not learner.is_saved:
        raise ExchangeError(" ".join((f"{file}: 가져오지 못했어요.", *learner.take_notices()[-1:])))
    return len(learner.events) - before


def _read(file: Path) -> list[LearnerEvent]:
    """Read an exported file, or a `progress.json` of an old version."""
    try:
        with open(open_regular(file.resolve()), "rb") as opened:
            text = opened.read(_MOST_BYTES + 1)
            written = file.stat().st_mtime
    except OSError as error:
        raise ExchangeError(
            f"{file}: 읽지 못했어요 ({error.strerror or '파일이 아니에요'}). 경로를 확인해 주세요."
        ) from error
    if len(text) > _MOST_BYTES:
        raise ExchangeError(
            f"{file}: 진도 파일이라기에는 너무 커요 ({_MOST_BYTES // 2**20} MB 넘음). "
            f"다른 컴퓨터에서 이렇게 만든 파일을 주세요: {_EXPORT}"
        )
    if legacy := events_of_json(text, written):
        return legacy
    try:
        document = msgspec.json.decode(text, type=_ExportedFile)
        msgspec.json.encode(document)  # raises for lone surrogates, which no file could hold
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ExchangeError(
            f"{file}: 진도를 내보낸 파일이 아니에요. 다른 컴퓨터에서 이렇게 만든 파일을 주세요: {_EXPORT}"
        ) from error
    if document.schema != SCHEMA:
        raise ExchangeError(
            f"{file}: 모르는 형식이에요: {document.schema!r} (아는 것: {SCHEMA}). "
            f"hanstep을 업데이트해 주세요: {install_command(again='--upgrade')}"
        )
    return document.events
