"""One program at the desk as plain data: who wrote it, its lines, what is told at which line, and its card."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from grader.classroom.desk.behaviour import Group, feedback_on
from grader.classroom.desk.card_tree import card_tree
from grader.classroom.desk.people import People
from grader.course.feedback import ClassResult, Feedback
from grader.report import words
from grader.report.html import feedback_html
from grader.report.kept_answers import Answer, Answers, Line
from grader.report.plain_text import clean, one_line, without_code_marks

_MOST_LINES, _MOST_CHARS = 400, 300
"""Maximum lines of a program, and characters of a line, that are shown."""
_DEFINITION = re.compile(r"(?:async\s+)?(?:def|class)\s+(\w+)")
_WORD = re.compile(r"[^\W\d]\w*")
MOST_NAMES = 200
"""Maximum students listed by name."""


def program(
    result: ClassResult,
    people: People,
    answers: Answers,
    exercise: str,
    members: Sequence[int],
    marks: Mapping[int, str],
    again: Collection[int],
) -> dict[str, Any]:
    """Return one program with everybody who wrote it; places and marks at lines are those of the first.

    Args:
        result: the graded class.
        people: the class, as the desk knows it.
        answers: its code.
        exercise: the exercise.
        members: the students who wrote this program.
        marks: each student's points as they are now.
        again: students who have handed in anew after something was written about their answer.
    """
    index = members[0]
    first = result.submissions[index]
    feedback = feedback_on(first, exercise)
    answer = answers.of(first.student, exercise)
    if answer is None and feedback is not None:
        answer = answers.elsewhere(first.student, feedback.other_name)
    found = answer or Answer("", (), ())
    own, rest = _with_what_it_names(found, {one.exercise for one in first.all_feedback})
    return {
        "students": [
            {
                "id": people.ids[member],
                "name": people.shown(member),
                "mark": marks.get(member, ""),
                "again": member in again,
            }
            for member in members[:MOST_NAMES]
        ],
        "count": len(members),
        "file": people.hidden(index, one_line(found.file, 80)),
        "own": _lines(people, index, own),
        "rest": _lines(people, index, rest),
        "note": "" if feedback is None else people.hidden(index, _note(feedback, found)),
        "marks": [] if feedback is None else _marks_at_lines(feedback, found),
        "card": []
        if feedback is None
        else _hidden_in_card(people, index, card_tree(feedback_html(feedback))),
    }


def _with_what_it_names(answer: Answer, exercises: Collection[str]) -> tuple[list[Line], list[Line]]:
    """Return the lines to show, with the functions and classes that they name, and the lines that are left.

    Answers to other exercises are left: they have cards of their own.
    """
    blocks = _definitions(answer.rest)
    shown, more = [*answer.own], [*answer.own]
    while more:
        named = {name for line in more for name in _WORD.findall(line.text)} & blocks.keys()
        more = [line for name in sorted(named.difference(exercises)) for line in blocks.pop(name)]
        shown += more
    if len(shown) > len(answer.own):
        shown.sort(key=lambda line: (line.cell or 0, line.line))
    return shown, [line for line in answer.rest if line not in shown]


def _definitions(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Return the functions and classes at the left margin by name, each up to its last indented line."""
    found: dict[str, list[Line]] = {}
    current: list[Line] = []
    for line in lines:
        begun = _DEFINITION.match(line.text)
        if begun:
            current = found.setdefault(begun[1], [])
        elif line.text and not line.text[0].isspace() and line.text[0] not in ")]}":
            current = []
        current.append(line)
    for block in found.values():
        while not block[-1].text:
            block.pop()
    return found


def _note(feedback: Feedback, answer: Answer) -> str:
    """Return why there is no code of the exercise's own, in Korean; empty if there is."""
    if answer.own and feedback.status != "unreadable" and not feedback.other_name:
        return ""
    return without_code_marks(one_line(feedback.message, 600))


def _hidden_in_card(people: People, student: int, tree: list[Any]) -> list[Any]:
    return [
        people.hidden(student, node)
        if isinstance(node, str)
        else [node[0], node[1], _hidden_in_card(people, student, node[2])]
        for node in tree
    ]


def _lines(people: People, student: int, lines: Sequence[Line]) -> list[list[Any]]:
    return [
        [line.cell, line.line, people.hidden(student, clean(line.text, _MOST_CHARS))]
        for line in lines[:_MOST_LINES]
    ]


def _marks_at_lines(feedback: Feedback, answer: Answer) -> list[dict[str, Any]]:
    """Return what is told at which line: the named mistakes, or where the code stopped or first differs."""
    told = [
        (named.cell, named.line, without_code_marks(words.either(named)), _side(named.before, named.after))
        for named in feedback.diagnosis.mistakes
        if named.line is not None
    ]
    if feedback.line is not None and feedback.status != "passed":
        if feedback.error:
            told.append((feedback.cell, feedback.line, one_line(feedback.error, 200), ""))
        elif not told:
            told.append((feedback.cell, feedback.line, "여기부터 보세요", ""))
    places = {(line.cell, line.line) for line in (*answer.own, *answer.rest)}
    return [
        {"cell": cell, "line": line, "text": text, "side": side}
        for cell, line, text, side in told
        if (cell, line) in places
    ]


def _side(before: bool, after: bool) -> str:
    return "이 줄보다 앞에: " if before else "이 줄 뒤에: " if after else ""


def mistakes_in(groups: Sequence[Group], people: People) -> list[dict[str, Any]]:
    """Return the mistakes named in an exercise, with everybody who made them and each one's group."""
    found: dict[str, dict[str, Any]] = {}
    for group in groups:
        for named in {one.id: one for one in group.sample.diagnosis.mistakes}.values():
            title = without_code_marks(words.either(named))
            entry = found.setdefault(named.id, {"id": named.id, "title": title, "students": 0, "names": []})
            entry["students"] += len(group.members)
            room = MOST_NAMES - len(entry["names"])
            members = people.in_order(group.members)[:room]
            entry["names"] += [[people.called(index), group.key] for index in members]
    return [*found.values()]
