"""Make the programs of the known mistakes, which are text edits of the solution, alone or several at once.

A mistake edits the *source* of an exercise: the text of its one function or class in the lesson's solution. Example:
the edit `(" / len(window)", "")` in the source of `accumulate` is the mistake `no-division`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, permutations
from typing import NamedTuple

from grader.course.course import CourseError, Edits, Exercise, Mistake
from grader.judging.solution import exercise_source
from grader.observe.wording import ordinal
from grader.submission.syntax import parses

_MAX_PERMUTED = 3
"""Maximum number of mistakes that are tried in every possible order (6 for three). More are tried in two orders only,
that of the exercise's TOML and its reverse, because four have 24 orders already."""


@dataclass(frozen=True)
class MistakeVariant:
    """One way to make a known mistake."""

    mistake: Mistake
    number: int
    """Index in `Mistake.programs`: 0 for the *usual* variant, made by the mistake's `edits`; 1 for the first of its
    `variants`, and so on."""

    @cached_property
    def name(self) -> str:
        """Name as in `behaviours.json`: `no-division` if usual, `no-division/2` for the second of `variants`."""
        return f"{self.mistake.id}/{self.number}" if self.number else self.mistake.id

    @property
    def edits(self) -> Edits:
        """Text edits of the solution that make this variant: for the usual one, `edits` in the exercise's TOML."""
        return self.mistake.programs[self.number]


Combination = tuple[MistakeVariant, ...]
"""Variants of different mistakes that are made together, in the order of the exercise's TOML."""


def ids_of(combination: Iterable[MistakeVariant]) -> frozenset[str]:
    """Return the ids of the mistakes that these variants make."""
    return frozenset(variant.mistake.id for variant in combination)


def variants_of(exercise: Exercise) -> list[MistakeVariant]:
    """Return every variant of every known mistake, in the order of the exercise's TOML."""
    return [MistakeVariant(m, number) for m in exercise.mistakes for number in range(len(m.programs))]


def variant_source(exercise: Exercise, variant: MistakeVariant) -> str:
    """Return the exercise's source with one mistake made.

    Raises:
        CourseError: the old text of an edit does not stand exactly once in the solution, or two edits overlap.
    """
    key = f"variants의 {ordinal(variant.number)}" if variant.number else "edits"
    place = f"{exercise.name}.toml: 실수 '{variant.mistake.id}'의 {key}"
    edited = _apply_edits(exercise_source(exercise), variant.edits, place)
    if edited is None:
        raise CourseError(f"{place}: 고치는 곳이 서로 겹쳐요. 하나로 합쳐 주세요.")
    return edited


def combination_source(exercise: Exercise, combination: Sequence[MistakeVariant]) -> str | None:
    """Return the exercise's source with several mistakes made; None if that is not possible.

    All edits are made at once. If some overlap, the mistakes are made one after the other instead, in the first order
    in which each finds its old texts in what those before it left: in any order for up to three mistakes, in the given
    one or its reverse for more (`_MAX_PERMUTED`). None if no order tried works, or if the result does not parse.

    Args:
        exercise: the exercise whose source is edited.
        combination: the mistakes, in the order of the exercise's TOML.

    Raises:
        CourseError: the old text of an edit does not stand exactly once in the solution.
    """
    source = exercise_source(exercise)
    # Two mistakes may have an edit in common, which is then made once.
    edits = tuple(dict.fromkeys(edit for variant in combination for edit in variant.edits))
    edited = _apply_edits(source, edits, exercise.name)
    if edited is None:
        edited = _make_in_some_order(source, combination)
    return edited if edited is not None and parses(edited) else None


class _Replacement(NamedTuple):
    """Characters `start` to `end` - 1 of a text, and the text that replaces them."""

    start: int
    end: int
    new: str


def _apply_edits(source: str, edits: Edits, place: str) -> str | None:
    """Return the source with all edits made at once; None if two of them overlap.

    "At once" means that every edit is looked up in the source as it was, not in what other edits made of it.

    Args:
        source: text to edit.
        edits: pairs of old and new text.
        place: Korean text that says where the edits are written, for the error message.

    Raises:
        CourseError: an old text does not stand exactly once in the source.
    """
    replacements = []
    for old, new in edits:
        if source.count(old) != 1:
            raise CourseError(
                f"{place}: 바꿀 글이 정답에 {source.count(old)}번 있어요. 꼭 한 번 있는 글로 바꿔 주세요: {old!r}"
            )
        start = source.index(old)
        replacements.append(_Replacement(start, start + len(old), new))
    replacements.sort()
    if any(one.end > following.start for one, following in pairwise(replacements)):
        return None
    for start, end, new in reversed(replacements):  # from the end, so that earlier positions stay right
        source = source[:start] + new + source[end:]
    return source


def _make_in_some_order(source: str, combination: Sequence[MistakeVariant]) -> str | None:
    """Return the source with the mistakes made in the first order that works; None if none of those tried does."""
    few = len(combination) <= _MAX_PERMUTED
    for order in permutations(combination) if few else (combination, combination[::-1]):
        edited = _make_one_after_another(source, order)
        if edited is not None:
            return edited
    return None


def _make_one_after_another(source: str, order: Sequence[MistakeVariant]) -> str | None:
    """Return the source with the mistakes made in this order, each in what those before it left.

    None if the old text of an edit does not stand there exactly once, or if two edits of one mistake overlap.
    """
    for variant in order:
        if any(source.count(old) != 1 for old, _ in variant.edits):
            return None
        edited = _apply_edits(source, variant.edits, variant.name)
        if edited is None:
            return None
        source = edited
    return source
