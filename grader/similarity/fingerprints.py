"""Programs -> fingerprints that renaming does not change, by copydetect's winnowing; what all share is left out."""

import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from grader.errors import HanstepError

_SMALLEST = 30
"""Characters of a passage, after each name has become one letter: about two lines."""
_WIDELY_SHARED = 0.15
"""A passage that more than this share of a class wrote is what the task asks for."""
_FEWEST_SHARING = 3
"""A passage of three friends is never taken for common."""


class NotInstalled(HanstepError):
    """copydetect is missing."""


@dataclass(frozen=True)
class Program:
    """All that one student wrote."""

    student: str
    text: str
    places: tuple[str, ...] = ()
    """Where the student finds each line: file, cell, line."""


@dataclass(frozen=True)
class Pair:
    """Two programs that share what few others have."""

    first: str
    second: str
    share: float
    """Of the rarer text of the shorter program (0 to 1)."""
    size: int
    """Characters, after each name has become one letter."""
    lines: tuple[tuple[int, int], ...]
    """Of the first program: from which line to which."""
    other_lines: tuple[tuple[int, int], ...]


def similar_pairs(programs: Sequence[Program], known: Iterable[str], least: float) -> list[Pair]:
    """Pairs that share at least `least` of their rarer text, the most alike first.

    Args:
        programs: the class.
        known: texts that everybody has: starter code, hints.
        least: from 0 to 1.

    Raises:
        NotInstalled: copydetect is missing.
    """
    _, utils = _copydetect()
    starter = {value for text in known for value in _fingerprint(text).hashes}
    prints = {p.student: _fingerprint(p.text) for p in programs}
    spread = Counter(value for fingerprint in prints.values() for value in fingerprint.hashes)
    most = max(_FEWEST_SHARING, _WIDELY_SHARED * len(programs))
    for fingerprint in prints.values():
        kept = {value for value in fingerprint.hashes if value not in starter and spread[value] <= most}
        fingerprint.hashes = kept
        fingerprint.hash_idx = {value: fingerprint.hash_idx[value] for value in kept}
        length = len(fingerprint.filtered_code)
        fingerprint.token_coverage = utils.get_token_coverage(fingerprint.hash_idx, _SMALLEST, length)
    pairs = (_pair(one, other, prints) for one, other in _candidates(prints))
    found = [pair for pair in pairs if pair is not None and pair.share >= least]
    return sorted(found, key=lambda pair: (-pair.share, -pair.size, pair.first, pair.second))


def _candidates(prints: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Pairs that share anything: through the passages, since comparing all with all grows with the square."""
    holders: dict[int, list[str]] = defaultdict(list)
    for student, fingerprint in prints.items():
        for value in fingerprint.hashes:
            holders[value].append(student)
    shared = Counter(pair for students in holders.values() for pair in combinations(students, 2))
    return [pair for pair, count in shared.items() if count > 1]


def _pair(one: str, other: str, prints: Mapping[str, Any]) -> Pair | None:
    detector, _ = _copydetect()
    first, second = prints[one], prints[other]
    size, shares, (mine, theirs) = detector.compare_files(first, second)
    if not size:
        return None
    return Pair(
        one,
        other,
        min(1.0, float(max(shares))),
        int(size),
        _lines(first.raw_code, mine),
        _lines(second.raw_code, theirs),
    )


def _lines(text: str, slices: Any) -> tuple[tuple[int, int], ...]:
    """Slices of characters as spans of lines, those that touch joined."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted(zip(slices[0].tolist(), slices[1].tolist(), strict=True)):
        lines = text.count("\n", 0, int(start)) + 1, text.count("\n", 0, int(end)) + 1
        if spans and lines[0] <= spans[-1][1] + 1:
            spans[-1] = spans[-1][0], max(spans[-1][1], lines[1])
        else:
            spans.append(lines)
    return tuple(spans)


def _fingerprint(text: str) -> Any:
    detector, _ = _copydetect()
    # A window of one keeps every passage: with a larger one, hash seeds would decide which are compared.
    return detector.CodeFingerprint("program.py", _SMALLEST, 1, language="python", fp=io.StringIO(text))


def _copydetect() -> tuple[Any, Any]:
    try:
        from copydetect import detector, utils
    except ModuleNotFoundError as error:
        raise NotInstalled(
            "닮은 제출물을 찾는 데 필요한 copydetect가 없어요. 설치해 주세요: pip install 'hanstep[similar]'"
        ) from error
    return detector, utils
