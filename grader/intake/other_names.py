"""Answers under other names in a whole class: grade them under the exercises' names, and find names that many share."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.course.course import Exercise
from grader.observe.wording import particle
from grader.submission.close_names import Pairing, close_names, same_parameters
from grader.submission.renaming import with_names
from grader.submission.submission import Submission
from grader.submission.syntax import definitions

_MANY = 3
"""Minimum number of students who share a name before it is asked about, if it is unlike the exercise's."""


@dataclass(frozen=True)
class SharedName:
    """A name that students use instead of an exercise's."""

    own: str
    exercise: str
    students: int


def under_course_names(
    submissions: Sequence[Submission], names: Mapping[str, str]
) -> tuple[tuple[Submission, ...], tuple[str, ...]]:
    """Return the submissions with answers renamed to their exercises, and the names that nobody uses.

    A submission that answers the exercise under its own name too stays as it is.

    Args:
        submissions: the class.
        names: name in the files -> name of the exercise. Of several for one exercise, the first that a student uses.
    """
    used: set[str] = set()
    found = []
    for submission in submissions:
        here = {own: name for own, name in names.items() if submission.source_for(own) is not None}
        used |= here.keys()
        wanted: dict[str, str] = {}
        for own, name in here.items():
            if submission.source_for(name) is None and name not in wanted.values():
                wanted[own] = name
        found.append(_renamed(submission, wanted) if wanted else submission)
    return tuple(found), tuple(own for own in names if own not in used)


def _renamed(submission: Submission, names: Mapping[str, str]) -> Submission:
    """Return a submission with functions renamed, and a note for the student on each."""
    notes = tuple(
        f"`{own}`{particle(own, '을/를')} `{name}`{particle(name, '으로/로')} 채점했어요."
        for own, name in names.items()
    )
    files = tuple(with_names(file, names) for file in submission.files)
    return replace(submission, files=files, notes=(*submission.notes, *notes), as_handed_in=submission.digest)


def shared_names(
    submissions: Iterable[Submission], exercises: Sequence[Exercise], known: Iterable[str]
) -> tuple[SharedName, ...]:
    """Return the names that probably answer exercises: those like the exercise's, and those that many students share.

    Args:
        submissions: the class, each member of a group once.
        exercises: exercises that are graded.
        known: names of all exercises of the course.

    Returns:
        The names, those of most students first.
    """
    known = frozenset(known)
    alike: Counter[tuple[str, str]] = Counter()
    unlike: Counter[tuple[str, str]] = Counter()
    for submission in submissions:
        absent = [
            one for one in exercises if one.kind == "exercise" and submission.source_for(one.name) is None
        ]
        close = close_names(submission.files, absent, known) if absent else ()
        alike.update((pairing.own, pairing.exercise) for pairing in close)
        unlike.update(_by_parameters(submission, absent, close, known))
    asked = Counter(alike)
    for (own, name), number in unlike.items():
        rivals = [other for (one, other) in (*unlike, *alike) if one == own and other != name]
        if not rivals and number + alike[own, name] >= _MANY:
            asked[own, name] += number
    return tuple(SharedName(*pair, number) for pair, number in asked.most_common())


def _by_parameters(
    submission: Submission, absent: Sequence[Exercise], close: Sequence[Pairing], known: frozenset[str]
) -> set[tuple[str, str]]:
    """Return (name, exercise) for definitions with an absent exercise's parameters, whatever they are called."""
    left = [one for one in absent if all(pairing.exercise != one.name for pairing in close)]
    taken = {pairing.own for pairing in close} | known
    own = {name: node for file in submission.files if left for name, node in definitions(file.text).items()}
    return {
        (name, exercise.name)
        for name, node in own.items()
        if name not in taken and not name.startswith("_")
        for exercise in left
        if same_parameters(node, exercise)
    }
