"""Compare programs by fingerprints that renaming does not change, and find similar pairs.

A fingerprint (made by copydetect) is the set of hashes of all passages of 30 characters, taken after every name has
become one letter; so two students who wrote the same lines with other names share its hashes. Passages that everybody
has (starter code, hints) and those that many of the class wrote are left out: they are what the task asks for. A pair
is compared in full only if it shares enough of its rare passages. For example, if two of 40 students share a helper
function that nobody else wrote, its passages are rare, and the pair is found; a loop that 10 of the 40 wrote the same
way counts for nothing.
"""

import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.base.errors import HanstepError
from grader.base.installing import install_command

Hashes = NDArray[np.int64]
_PASSAGE_LENGTH = 30
"""Characters of a passage, after each name has become one letter: about two lines."""
_WIDELY_SHARED = 0.15
"""A passage that more than this fraction of a class wrote is what the task asks for, and is ignored."""
_MIN_COMMON = 3
"""A passage shared by up to this many students always counts, so that three friends in a small class are found."""
_MAX_RARE = 50
"""A passage shared by more students than this is ignored in any class, because pairs grow with its square."""


class NotInstalled(HanstepError):
    """copydetect is not installed."""


@dataclass(frozen=True)
class StudentCode:
    """All code that one student wrote."""

    student: str
    text: str
    places: tuple[str, ...] = ()
    """File, cell and line of each line of `text`, as the student sees them."""
    left_out: int = 0
    """Number of characters that the student wrote beyond `text`, where that would be too long."""


@dataclass(frozen=True)
class SimilarPair:
    """Two programs that share text which few others have."""

    first: str
    second: str
    share: float
    """Shared fraction of the shorter program's rare text (0 to 1)."""
    size: int
    """Size of the shared text in characters, after each name has become one letter."""
    lines: tuple[tuple[int, int], ...]
    """Shared spans in the first program: first and last line of each."""
    other_lines: tuple[tuple[int, int], ...]


def similar_pairs(programs: Sequence[StudentCode], known: Iterable[str], least: float) -> list[SimilarPair]:
    """Return the pairs that share at least `least` of their rare text, the most alike first.

    Args:
        programs: the class.
        known: texts that everybody has: starter code, hints.
        least: minimum share, 0 to 1.

    Raises:
        NotInstalled: copydetect is not installed.
    """
    given = np.unique(np.concatenate([_hashes(text) for text in known] or [_hashes("")]))
    own = {p.student: np.setdiff1d(_hashes(p.text), given) for p in programs}
    values, spread = np.unique(np.concatenate([*own.values(), _hashes("")]), return_counts=True)
    most = min(max(_MIN_COMMON, _WIDELY_SHARED * len(programs)), _MAX_RARE)
    common = values[spread > most]
    rare = {student: np.setdiff1d(hashes, common) for student, hashes in own.items()}
    texts = {p.student: p.text for p in programs}

    @lru_cache(maxsize=256)  # whole fingerprints are too large to keep those of thousands of programs
    def fingerprint(student: str) -> Any:
        return _restrict(_fingerprint(texts[student]), set(rare[student].tolist()))

    found = []
    for first, second in _candidates(rare, values[spread > 1], least):
        pair = _compared(first, second, fingerprint(first), fingerprint(second))
        if pair is not None and pair.share >= least:
            found.append(pair)
    return sorted(found, key=lambda pair: (-pair.share, -pair.size, pair.first, pair.second))


def _candidates(rare: Mapping[str, Hashes], shared: Hashes, least: float) -> list[tuple[str, str]]:
    """Return the pairs worth comparing in full, found through shared passages; comparing all pairs would be quadratic.

    Args:
        rare: rare passages of each student.
        shared: passages that more than one student has; most passages belong to a single student.
        least: as in `similar_pairs`.
    """
    holders: dict[int, list[str]] = defaultdict(list)
    for student, hashes in rare.items():
        for value in np.intersect1d(hashes, shared, assume_unique=True).tolist():
            holders[value].append(student)
    counts = Counter(pair for students in holders.values() for pair in combinations(students, 2))
    sizes = {student: len(hashes) for student, hashes in rare.items()}
    # The full comparison counts characters, of which a passage covers more than it has fingerprints.
    half = least / 2
    return sorted(
        pair for pair, count in counts.items() if count >= half * min(sizes[pair[0]], sizes[pair[1]])
    )


def _compared(one: str, other: str, first: Any, second: Any) -> SimilarPair | None:
    detector, _ = _copydetect()
    size, shares, (mine, theirs) = detector.compare_files(first, second)
    if not size:
        return None
    share = min(1.0, float(max(shares)))
    return SimilarPair(
        one, other, share, int(size), _lines(first.raw_code, mine), _lines(second.raw_code, theirs)
    )


def _lines(text: str, slices: Any) -> tuple[tuple[int, int], ...]:
    """Convert slices of characters to spans of lines, joining those that touch."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted(zip(slices[0].tolist(), slices[1].tolist(), strict=True)):
        lines = text.count("\n", 0, int(start)) + 1, text.count("\n", 0, int(end)) + 1
        if spans and lines[0] <= spans[-1][1] + 1:
            spans[-1] = spans[-1][0], max(spans[-1][1], lines[1])
        else:
            spans.append(lines)
    return tuple(spans)


def _hashes(text: str) -> Hashes:
    """Return the hashes of all passages of a text, each once."""
    return np.unique(np.fromiter(_fingerprint(text).hashes, dtype=np.int64))


def _fingerprint(text: str) -> Any:
    detector, _ = _copydetect()
    # A window of one keeps every passage; with a larger one, hash seeds would decide which passages are compared.
    return detector.CodeFingerprint("program.py", _PASSAGE_LENGTH, 1, language="python", fp=io.StringIO(text))


def _restrict(fingerprint: Any, kept: set[int]) -> Any:
    """Restrict a fingerprint, in place, to the passages in `kept`."""
    _, utils = _copydetect()
    fingerprint.hash_idx = {value: at for value, at in fingerprint.hash_idx.items() if int(value) in kept}
    fingerprint.hashes = set(fingerprint.hash_idx)
    length = len(fingerprint.filtered_code)
    fingerprint.token_coverage = utils.get_token_coverage(fingerprint.hash_idx, _PASSAGE_LENGTH, length)
    return fingerprint


def _copydetect() -> tuple[Any, Any]:
    try:
        from copydetect import detector, utils
    except ModuleNotFoundError as error:
        raise NotInstalled(
            f"닮은 제출물을 찾는 데 필요한 copydetect가 없어요. 설치해 주세요: {install_command('similar')}"
        ) from error
    return detector, utils
