"""Who wrote which line at the desk, and the question before somebody replaces what another person wrote."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from grader.classroom.desk.behaviour import Group
from grader.classroom.desk.changes import Changes, DeskError, Edit, Edited, Undone, is_change
from grader.classroom.desk.people import People
from grader.classroom.desk.rubric import changes_beside, value_of
from grader.gradebook.hand_files import HandLine, Sheet
from grader.report.plain_text import one_line, points

_MOST_TOLD = 5
"""Maximum lines told one by one."""
_Said = tuple[str, ...]


class Question(DeskError):
    """A change needs an answer first; the message asks, in Korean."""

    def __init__(self, asked: str, choices: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Ask; `choices`: by what a button says, what this answer adds to the request. Without any, nothing helps."""
        super().__init__(asked)
        self.choices = [{"label": label, "give": dict(give)} for label, give in (choices or {}).items()]


class Authors:
    """Who wrote which line, by the log."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._size = -1
        self._known: dict[_Said, str] = {}

    def of(self, line: HandLine) -> str:
        """Return who wrote a line; empty if it was not written at the desk."""
        if (size := self._changes.size()) != self._size:
            self._known, self._size = self._read(), size
        return self._known.get(_said(line.as_document()), "")

    def of_all(self, lines: Iterable[HandLine]) -> str:
        """Return everybody who wrote one of the lines."""
        return ", ".join(dict.fromkeys(one_line(who, 40) for line in lines if (who := self.of(line))))

    def _read(self) -> dict[_Said, str]:
        """Read the log; who keeps a line for a new answer, or puts it back by undoing, has not written it."""
        return {
            _said(line): str(event["who"])
            for event in self._changes.events()
            if event["what"] not in ("undo", "keep") and isinstance(event.get("after"), list)
            for line in event["after"]
            if isinstance(line, dict)
        }


def _said(line: dict[str, str]) -> _Said:
    return tuple(str(line.get(name, "")) for name in ("id", "name", "exercise", "score", "text", "rule"))


def asking_first(edit: Edit, authors: Authors, who: str, people: People) -> Callable[[Sheet], Edited]:
    """Return the edit that asks, in place of being done, if it replaces what somebody else than `who` wrote.

    The edit raises Question.
    """

    def asked(sheet: Sheet) -> Edited:
        done = edit(sheet)
        theirs = [line for line in done.removed if authors.of(line) not in ("", who)]
        if theirs:
            raise Question(
                f"다른 사람이 적은 것이 있어요. {told(theirs, authors, people)} 이것으로 바꿀까요?",
                {"바꾸기": {"replace": True}},
            )
        return done

    return asked


def asking_what_to_do_beside(
    edit: Edit, authors: Authors, people: People, students: Sequence[int], new: HandLine
) -> Edit:
    """Return the edit that asks, in place of being done, if points for one student would be added to others.

    A rule's points for many add up without a question: each says another thing about the answer.
    """
    if new.rule or not is_change(new.score):
        return edit

    def asked(sheet: Sheet) -> Edited:
        (student,) = students
        there = changes_beside(sheet, people, student, new)
        if there:
            parts = [f"{line.score}점 「{one_line(line.text, 40)}」{_by(authors.of(line))}" for line in there]
            total = sum(map(value_of, (*there, new)))
            raise Question(
                f"{people.called(student)}에게 이미 더하거나 뺀 점수가 있어요: {', '.join(parts)}. "
                f"새로 적는 {new.score}점을 여기에 더할까요, 이것으로 바꿀까요?",
                {
                    f"더하기 (모두 {'+' if total >= 0 else '-'}{points(abs(total))}점)": {"beside": "add"},
                    f"바꾸기 ({new.score}점만)": {"beside": "replace", "replace": True},
                },
            )
        return edit(sheet)

    return asked


def _by(who: str) -> str:
    return f" (적은 사람: {one_line(who, 40)})" if who else ""


def told(lines: Sequence[HandLine], authors: Authors, people: People) -> str:
    """Return lines in words, with who wrote them: `조교 1: 이하준 3점.`."""
    by: dict[str, list[str]] = {}
    for line in lines[:_MOST_TOLD]:
        student = people.student_of(line)
        whose = "" if student is None else people.called(student)
        points = line.score if line.score == "면제" else f"{line.score}점"
        by.setdefault(authors.of(line), []).append(f"{whose} {points}".strip())
    parts = [
        ", ".join(said) if not who else f"{one_line(who, 40)}: {', '.join(said)}" for who, said in by.items()
    ]
    more = f" 외 {len(lines) - _MOST_TOLD}줄" if len(lines) > _MOST_TOLD else ""
    return f"{' / '.join(parts)}{more}."


def undone_in_words(undone: Undone, group: Group | None, people: People) -> dict[str, str]:
    """Return whom an undone change was about and what it said; `group`: the group, if it is still there."""
    found = (people.student_of(line) for line in undone.lines)
    whose = people.listed([*dict.fromkeys(one for one in found if one is not None)])
    if not whose and group is not None:
        whose = f"「{people.hidden(group.members[0], group.title)}」"
    said = one_line(undone.lines[0].score or undone.lines[0].text, 30) if undone.lines else ""
    return {"whose": whose, "said": said}
