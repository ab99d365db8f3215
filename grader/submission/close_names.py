"""Find functions that are probably an exercise's answer under another name: `trainStep` for `train_step`.

They are only proposed: nothing is graded under a name that its author did not give or name.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice, zip_longest

from grader.base.errors import HanstepError
from grader.course.course import Exercise
from grader.submission.source_file import Place, SourceFile
from grader.submission.syntax import Definition, arguments_of, definitions, methods, names_in, parse

_MIN_LIKENESS = 0.69
"""Minimum likeness, from 0 to 1, at which a name is proposed."""
_NAME_COUNTS = 0.75
"""Share of the likeness that comes from the names; the rest comes from the parameters."""
_WITHOUT_PARAMETERS = 0.9
"""Factor for the likeness of the names where the exercise's parameters are not known."""
_ALL_WORDS_OCCUR = 0.6
"""Likeness of a name in which all words of the exercise's name occur, however much else stands in it."""
_LIKENESS_OF_OTHERS = 0.99
"""Maximum likeness of two names that are not equal."""
_MAX_DEFINITIONS = 200
"""Maximum definitions of a submission that are compared."""
_MAX_CHARS = 60
"""Maximum characters of a name that are compared."""
_MAX_PARAMETERS = 20
"""Maximum parameters of a definition that are compared."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
"""Word of a name in camel or snake case; digits are words of their own."""


@dataclass(frozen=True)
class Pairing:
    """A definition under another name, and the exercise that it probably answers."""

    own: str
    exercise: str
    file: str
    """Name of the file, for messages."""
    place: Place


def close_names(
    files: Sequence[SourceFile], exercises: Iterable[Exercise], known: Iterable[str]
) -> tuple[Pairing, ...]:
    """Return the likeliest pairings, each name and each exercise at most once, in the order of the exercises.

    Args:
        files: the files of a submission.
        exercises: exercises that the submission does not define.
        known: names of all exercises of the course.
    """
    wanted = tuple(exercises)
    known = frozenset(known)
    own = list(islice((found for file in files for found in _candidates(file, known)), _MAX_DEFINITIONS))
    if not own or not wanted:
        return ()
    likely = [
        (score, file, definition, exercise)
        for file, definition in own
        for exercise in wanted
        if (score := _likeness(definition, exercise)) >= _MIN_LIKENESS
    ]
    chosen: dict[str, Pairing] = {}
    for _, file, definition, exercise in sorted(likely, key=lambda each: -each[0]):
        if exercise.name not in chosen and all(pairing.own != definition.name for pairing in chosen.values()):
            place = file.nearest_place(definition.lineno)
            chosen[exercise.name] = Pairing(definition.name, exercise.name, file.name, place)
    return tuple(chosen[exercise.name] for exercise in wanted if exercise.name in chosen)


def same_parameters(own: Definition, exercise: Exercise) -> bool:
    """Return True if a function has the parameters of an exercise's, two or more, by name and in order."""
    answer = _solution_definition(exercise)
    if answer is None or isinstance(answer, ast.ClassDef) or isinstance(own, ast.ClassDef):
        return False
    wanted = _parameters(answer)
    return len(wanted) > 1 and _parameters(own) == wanted


def _candidates(file: SourceFile, known: frozenset[str]) -> Iterator[tuple[SourceFile, Definition]]:
    """Yield the file's public definitions that no exercise in the file uses."""
    found = definitions(file.text)
    used = {name for own in found.keys() & known for name in names_in(found[own])}
    for name, definition in found.items():
        if name not in known and name not in used and not name.startswith("_"):
            yield file, definition


def _likeness(own: Definition, exercise: Exercise) -> float:
    """Return how alike a definition and an exercise are in name and parameters, from 0 to 1."""
    answer = _solution_definition(exercise)
    if answer is not None and isinstance(answer, ast.ClassDef) != isinstance(own, ast.ClassDef):
        return 0.0
    by_name = _name_likeness(own.name[:_MAX_CHARS], exercise.name)
    if answer is None:
        return by_name * _WITHOUT_PARAMETERS
    return _NAME_COUNTS * by_name + (1 - _NAME_COUNTS) * _parameter_likeness(
        _parameters(own), _parameters(answer)
    )


def _name_likeness(own: str, exercise: str) -> float:
    """Return how alike two names are, from 0 to 1.

    They are compared by their letters, or, if all words of the exercise's name occur in the other, by their share of
    its letters.
    """
    mine, wanted = (name.casefold().replace("_", "") for name in (own, exercise))
    if mine == wanted:
        return 1.0
    words = _words(own)
    covering = [next((word for word in words if _same_word(word, part)), "") for part in _words(exercise)]
    covered = 0.0
    if mine and all(covering):
        covered = _ALL_WORDS_OCCUR + (1 - _ALL_WORDS_OCCUR) * sum(map(len, covering)) / len(mine)
    return min(_LIKENESS_OF_OTHERS, max(covered, SequenceMatcher(None, mine, wanted).ratio()))


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(name)]


def _same_word(one: str, other: str) -> bool:
    """Return True for equal words and for forms of one word: `accumulate`, `accumulation`."""
    shorter = min(len(one), len(other))
    return one == other or (shorter >= 5 and one[: shorter - 1] == other[: shorter - 1])


def _parameter_likeness(own: Sequence[str], wanted: Sequence[str]) -> float:
    """Return how alike two lists of parameters are, place by place."""
    pairs = list(zip_longest(own, wanted, fillvalue=""))
    return sum(_parameter_name_likeness(*pair) for pair in pairs) / len(pairs) if pairs else 1.0


def _parameter_name_likeness(own: str, wanted: str) -> float:
    mine, other = own.casefold(), wanted.casefold()
    if not mine or not other:
        return 0.0
    if mine in other or other in mine:
        return 1.0
    return SequenceMatcher(None, mine, other).ratio()


def _parameters(definition: Definition) -> list[str]:
    """Return the names of a function's parameters, or of those of a class's `__init__` without `self`."""
    if isinstance(definition, ast.ClassDef):
        made = methods(definition).get("__init__")
        return [] if made is None else _parameters(made)[1:]
    arguments = definition.args
    in_order = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs] or [*arguments_of(arguments)]
    return [argument.arg[:_MAX_CHARS] for argument in in_order[:_MAX_PARAMETERS]]


@lru_cache(maxsize=100)
def _solution_definition(exercise: Exercise) -> Definition | None:
    """Return the exercise's own definition, from its last hint; None if it has none that can be read. Cached."""
    try:
        text = exercise.load_answer() if exercise.load_answer else ""
        code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
        body = parse(code[1]) if code else []
    except (HanstepError, ValueError, OSError):
        return None
    return next((node for node in body if isinstance(node, Definition) and node.name == exercise.name), None)
