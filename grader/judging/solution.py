"""Read the solutions: a lesson's program, and the text of one exercise in it.

A *source* is the text of a program or of a definition in it. `exercise_source` returns that of one exercise, its
function or class; `solution_source` that of the whole lesson. `edits.py` makes the programs of known mistakes from the
source of their exercise, and `reference.py` plays `solution_with_needed_imports`. Nothing is executed here. Another
text that is cut out of the solutions is another function here.
"""

import ast
import re
from collections.abc import Sequence
from functools import cache

from grader.course.course import CourseError, Exercise
from grader.course.exercise_cell import without_marks
from grader.course.reading import load_course
from grader.submission.submission import read_submission
from grader.submission.syntax import (
    DEFINITIONS,
    Definition,
    assignments_of_names,
    definitions,
    first_line,
    last_line,
    names_imported,
    names_in,
    parse,
)


def exercise_source(exercise: Exercise) -> str:
    """Return the text of the exercise's function or class in the solution, decorators included.

    Raises:
        CourseError: the solution does not define it.
    """
    return _definition_source(exercise.lesson, exercise.name)


def task_text(exercise: Exercise) -> str:
    """Return what the learner is asked to write: the first lines of the definition, and its docstring.

    Raises:
        CourseError: the solution does not define it.
    """
    source = exercise_source(exercise)
    definition = definitions(source)[exercise.name]
    first = definition.body[0]
    end = last_line(first) if ast.get_docstring(definition) else first_line(first) - 1
    return "\n".join(source.splitlines()[:end])


@cache
def solution_source(lesson: str) -> str:
    """Return the lesson's solution as the text of one program, read as submissions are read. Cached.

    The program holds all parts of the lesson, one after the other.

    Raises:
        CourseError: the solution cannot be read.
    """
    course = load_course()
    texts = []
    for part in course.lesson(lesson).parts:
        submission = read_submission(part.source, tuple(course.exercises))
        if submission.unreadable or not submission.files or submission.files[0].problems:
            raise CourseError(
                f"{part.source}: 해답을 읽을 수 없어요: {submission.unreadable or submission.files}"
            )
        texts.append(without_marks(submission.files[0].text))
    return "\n".join(texts)


@cache
def solution_with_needed_imports(lesson: str) -> str:
    """Return the text of the lesson's solution without the imports that no exercise needs. Cached.

    The lesson imports much for its plots and data, which would take a second at every start. Empty lines stand in the
    place of these imports, so that all other lines keep their numbers.
    """
    text = solution_source(lesson)
    body = parse(text)
    needed = _names_needed(body, load_course().lesson(lesson).exercises)
    lines = text.split("\n")
    for node in body:
        imported = names_imported(node)
        if imported and "*" not in imported and needed.isdisjoint(imported):
            lines[node.lineno - 1 : last_line(node)] = [""] * (last_line(node) - node.lineno + 1)
    return "\n".join(lines)


@cache
def _definition_source(lesson: str, name: str) -> str:
    """Return the text of the last definition of `name` in the lesson's solution. Cached.

    Raises:
        CourseError: the solution does not define it.
    """
    node = _definitions(lesson).get(name)
    if node is None:
        raise CourseError(f"해답에 `{name}` 정의가 없어요")
    lines = solution_source(lesson).split("\n")[first_line(node) - 1 : last_line(node)]
    return "".join(f"{line}\n" for line in lines)


@cache
def _definitions(lesson: str) -> dict[str, Definition]:
    """Return the definitions of the lesson's solution by name. Cached: do not modify."""
    return definitions(solution_source(lesson))


def _names_needed(body: Sequence[ast.stmt], exercises: Sequence[Exercise]) -> set[str]:
    """Return all names that the exercises and the programs of their mistakes may use, directly or indirectly.

    These are the names of the exercises, all words in the new texts of edits, and the names in the top-level
    definitions of names found so far, until no new name turns up. Programs of `[[copies]]` have their own imports.
    """
    names_in_definition = {name: names_in(node) for node in body for name in _names_defined(node)}
    new_texts = (
        new
        for exercise in exercises
        for mistake in exercise.mistakes
        for edits in mistake.programs
        for _, new in edits
    )
    added = {exercise.name for exercise in exercises}.union(*(re.findall(r"\w+", text) for text in new_texts))
    needed: set[str] = set()
    while added:
        needed |= added
        added = set[str]().union(*(names_in_definition.get(name, ()) for name in added)) - needed
    return needed


def _names_defined(node: ast.stmt) -> list[str]:
    """Return the names that a top-level statement defines or assigns; none for an import."""
    return [node.name] if isinstance(node, DEFINITIONS) else assignments_of_names(node)
