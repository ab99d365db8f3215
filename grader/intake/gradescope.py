"""Read Gradescope's "Export Submissions": folders `submission_123/` beside `submission_metadata.yml` (from Ruby)."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import yaml

from grader.base.decoding import ReadError, read_text
from grader.intake.handover import Entry, Handover, IntakeError
from grader.report.plain_text import one_line

_METADATA = "submission_metadata.yml"
_LONGEST_NUMBER = 600
"""Longest accepted number in bits, some 180 digits; longer ones are ignored."""


class _Loader(yaml.SafeLoader):
    """YAML loader for plain values only; objects with Ruby's own tags are read as plain mappings and lists."""


def _untagged(loader: yaml.SafeLoader, _: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node)
    return loader.construct_sequence(node) if isinstance(node, yaml.SequenceNode) else str(node.value)


_Loader.add_multi_constructor("!", _untagged)


def read(folder: Path, found: list[Entry]) -> list[Handover]:
    """Return the students of a Gradescope export; empty if it is none. A group's work is listed once per member.

    Raises:
        IntakeError: the metadata cannot be read.
    """
    if not any(entry.name == _METADATA for entry in found):
        return []
    folders = {entry.name: entry for entry in found if entry.is_folder}
    handovers = []
    for key, about in _metadata(folder / _METADATA).items():
        entry = folders.get(_text(key))
        if entry is None or not isinstance(about, dict):
            continue
        members = about.get(":submitters")
        for member in members if isinstance(members, list) else []:
            if isinstance(member, dict):
                handovers.append(_handover(entry, member, about.get(":created_at")))
    return handovers


def _handover(entry: Entry, member: dict[Any, Any], created: object) -> Handover:
    name, sid, email = (_text(member.get(key)) for key in (":name", ":sid", ":email"))
    return Handover(
        key=f"{entry.name} {sid or email or name}",
        name=name or sid or email or entry.name,
        parts=(("", entry.path),),
        ids=tuple(value for value in (sid, email) if value),
        handed_in=created.isoformat() if isinstance(created, datetime) else _text(created),
    )


def _text(value: object) -> str:
    """Return a metadata value as text. Students write their names themselves, so control characters are escaped."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER:
        return ""  # Python refuses to write numbers of more than 4,300 digits
    return one_line(str(value), 200) if isinstance(value, str | int | float | date) else ""


def _metadata(path: Path) -> dict[Any, Any]:
    try:
        document = yaml.load(read_text(path), _Loader)
    except (ReadError, yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        reason = str(error).split("\n", 1)[0] or type(error).__name__
        raise IntakeError(
            f"Gradescope의 {_METADATA}을 읽을 수 없어요: {path} ({reason}). 내보내기를 다시 받아 주세요."
        ) from error
    return document if isinstance(document, dict) else {}
