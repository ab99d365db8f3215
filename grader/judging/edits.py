"""Make the programs of the known mistakes, which are text edits of the solution, alone or several at once.

A mistake edits the *source* of an exercise: the text of its one function or class in the lesson's solution. Example:
the edit `(" / len(window)", "")` in the source of `accumulate` is the mistake `no-division`.

`Reference` plays the programs made here; nothing is played in this module. Mistakes and their edits are written in the
exercise's TOML, so a new one needs no change here. Edits of the learner's own program are made in `repair/`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, permutations
from typing import Literal, NamedTuple

from grader.course.course import CourseError, Edits, Exercise, Mistake
from grader.judging.solution import exercise_source
from grader.judging.two_copies import two_copies
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

    copy: Literal[0, 1, 2] = 0
    """0: the mistake is made wherever its edits are; 1 or 2: only in the first or second of two copies of the code that
    they edit (`Cases`)."""

    @cached_property
    def name(self) -> str:
        """Name as in `behaviours.json`.

        `no-division` if usual, `no-division/2` for the second of `variants`, `no-division@2` for the second copy.
        """
        number = f"/{self.number}" if self.number else ""
        return f"{self.mistake.id}{number}{f'@{self.copy}' if self.copy else ''}"

    @property
    def edits(self) -> Edits:
        """Text edits of the solution that make this variant: for the usual one, `edits` in the exercise's TOML."""
        return self.mistake.programs[self.number]


Combination = tuple[MistakeVariant, ...]
"""Variants of different mistakes that are made together, in the order of the exercise's TOML."""


def ids_of(combination: Iterable[MistakeVariant]) -> frozenset[str]:
    """Return the ids of the mistakes that these variants make."""
    return frozenset(variant.mistake.id for variant in combination)


def exclude_each_other(one: MistakeVariant, other: MistakeVariant) -> bool:
    """Return True if no code makes both (`Mistake.excludes`); in different copies of it, each may be made."""
    in_different_copies = 0 not in (one.copy, other.copy) and one.copy != other.copy
    excluded = other.mistake.id in one.mistake.excludes or one.mistake.id in other.mistake.excludes
    return excluded and not in_different_copies


def variants_of(exercise: Exercise) -> list[MistakeVariant]:
    """Return every variant of every known mistake, in the order of the exercise's TOML.

    Those that are also made in one of two copies (`Cases`) come a second and a third time, unless they edit something
    outside the block that is copied. The usual variant may not: `variant_source` refuses it.
    """
    in_one_copy = exercise.cases.mistakes if exercise.cases else ()
    found: list[MistakeVariant] = []
    for mistake in exercise.mistakes:
        found += [MistakeVariant(mistake, number) for number in range(len(mistake.programs))]
        if mistake.id in in_one_copy:
            in_copies = [
                MistakeVariant(mistake, n, copy) for n in range(len(mistake.programs)) for copy in (1, 2)
            ]
            found += [
                variant
                for variant in in_copies
                if variant.number == 0 or combination_source(exercise, (variant,)) is not None
            ]
    return found


def variant_source(exercise: Exercise, variant: MistakeVariant) -> str:
    """Return the exercise's source with one mistake made.

    Raises:
        CourseError: the old text of an edit does not stand exactly once in the solution, or two edits overlap; or the
            mistake is to be made in one of two copies, and its edits are not in the block that is copied.
    """
    if variant.copy:
        in_two_copies = combination_source(exercise, (variant,))
        if in_two_copies is None:
            raise CourseError(
                f"{exercise.name}.toml: cases의 '{variant.mistake.id}'는 두 벌로 쓰는 곳({_place_of_copies(exercise)}) "
                "밖을 고쳐요. 목록에서 빼 주세요."
            )
        return in_two_copies
    key = f"variants의 {ordinal(variant.number)}" if variant.number else "edits"
    place = f"{exercise.name}.toml: 실수 '{variant.mistake.id}'의 {key}"
    edited = _apply_edits(exercise_source(exercise), variant.edits, place)
    if edited is None:
        raise CourseError(f"{place}: 고치는 곳이 서로 겹쳐요. 하나로 합쳐 주세요.")
    return edited


def combination_source(
    exercise: Exercise, combination: Sequence[MistakeVariant], *, in_two_copies: bool = False
) -> str | None:
    """Return the exercise's source with several mistakes made; None if that is not possible.

    All edits are made at once. If some overlap, the mistakes are made one after the other instead, in the first order
    in which each finds its old texts in what those before it left: in any order for up to three mistakes, in the given
    one or its reverse for more (`_MAX_PERMUTED`). None if no order tried works, or if the result does not parse.

    Args:
        exercise: the exercise whose source is edited.
        combination: the mistakes, in the order of the exercise's TOML.
        in_two_copies: True: write the block of `exercise.cases` twice in any case. It is always written twice if a
            mistake is to be made in one copy only; the other mistakes are then made in both.

    Raises:
        CourseError: the old text of an edit does not stand exactly once in the solution.
    """
    if in_two_copies or any(variant.copy for variant in combination):
        return _source_in_two_copies(exercise, combination)
    source = exercise_source(exercise)
    # Two mistakes may have an edit in common, which is then made once.
    edits = tuple(dict.fromkeys(edit for variant in combination for edit in variant.edits))
    edited = _apply_edits(source, edits, exercise.name)
    if edited is None:
        edited = _make_in_some_order(source, combination)
    return edited if edited is not None and parses(edited) else None


def _source_in_two_copies(exercise: Exercise, combination: Sequence[MistakeVariant]) -> str | None:
    """Return the source with the block of `exercise.cases` written twice; None if that is not possible."""
    copies = []
    for number in (1, 2):
        made = [replace(variant, copy=0) for variant in combination if variant.copy in (0, number)]
        copies.append(combination_source(exercise, made))
    first, second = copies
    if exercise.cases is None or first is None or second is None:
        return None
    source = two_copies(first, second, exercise.cases)
    return source if source is not None and parses(source) else None


def _place_of_copies(exercise: Exercise) -> str:
    """Return the first line of the statement whose block is written twice; Korean for "the whole function" if none."""
    return exercise.cases.inside if exercise.cases and exercise.cases.inside else "함수 전체"


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
    orders = (
        permutations(combination) if len(combination) <= _MAX_PERMUTED else (combination, combination[::-1])
    )
    for order in orders:
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
