"""Where the students' marks stand: before all marks by hand, and now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from grader.classroom.desk.behaviour import Group, feedback_on
from grader.classroom.desk.changes import is_change
from grader.classroom.desk.people import People
from grader.classroom.desk.rubric import Measured
from grader.course.feedback import ClassResult
from grader.gradebook.hand_files import HandLine
from grader.gradebook.marking import Rules, marked, scaled_score
from grader.gradebook.overrides import parse_score
from grader.gradebook.policy import Policy
from grader.report.plain_text import points

NO_MARK = "—"
_EXCUSED = "면제"


class Standing:
    """The marks of a class by the rules and the files of this moment."""

    def __init__(
        self,
        result: ClassResult,
        people: People,
        rules: Rules,
        names: Sequence[str],
        lines: Iterable[HandLine],
    ) -> None:
        """Compute the marks.

        Args:
            result: the graded class.
            people: the class, as the desk knows it.
            rules: policy and the files given by hand.
            names: names of all exercises in the course.
            lines: the lines of `overrides.csv`, which show what was given to students without a final mark yet.

        Raises:
            HanstepError: the rules cannot be applied.
        """
        self._result, self._people, self._names = result, people, names
        self._rules = replace(rules, policy=rules.policy or Policy())  # so that everybody gets a mark
        self._lines = [line for line in lines if not people.is_stale(line) and not is_change(line.score)]
        self._marked = marked(result, self._rules, names)
        self._found: dict[str, Measured] = {}

    @property
    def full(self) -> float:
        """Full mark of the whole submission."""
        marks = [s.mark for s in self._marked.submissions] + [a.mark for a in self._marked.absent]
        return max((mark.max_score for mark in marks if mark is not None), default=0.0)

    def measured(self, exercise: str) -> Measured:
        """Return the points before marks by hand for the exercise, or for the whole submission if it is empty."""
        if exercise not in self._found:
            found = self._measured_exercise(exercise) if exercise else self._measured_whole()
            self._found[exercise] = found
        return self._found[exercise]

    def _measured_exercise(self, exercise: str) -> Measured:
        policy = self._rules.policy or Policy()
        found: dict[int, float] = {}
        unread: set[int] = set()
        full = 0.0
        for index, submission in enumerate(self._result.submissions):
            feedback = feedback_on(submission, exercise)
            if feedback is not None:
                score, full = scaled_score(feedback, policy)
                if feedback.status == "unreadable":
                    unread.add(index)
                else:
                    found[index] = score
        return Measured(full, found, frozenset(unread))

    def _measured_whole(self) -> Measured:
        rules = replace(self._rules, overrides=tuple(one for one in self._rules.overrides if one.exercise))
        marks = [s.mark for s in marked(self._result, rules, self._names).submissions]
        found = {i: m.score for i, m in enumerate(marks) if m is not None and m.score is not None}
        absent = range(len(marks), len(self._people.ids))
        unread = frozenset(i for i, mark in enumerate(marks) if mark is None)
        return Measured(self.full, {**dict.fromkeys(absent, 0.0), **found}, unread)

    def marks(self, exercise: str) -> dict[int, str]:
        """Return each student's points for an exercise as they are now: `3.5`, `면제`, `—` for what was not read."""
        found = {}
        for index, submission in enumerate(self._marked.submissions):
            exercises = () if submission.mark is None else submission.mark.exercises
            for one in exercises:
                if one.exercise == exercise:
                    found[index] = _EXCUSED if one.dropped and one.reason else points(one.score)
            feedback = feedback_on(submission, exercise)
            if submission.mark is None and feedback is not None and feedback.status == "unreadable":
                found[index] = NO_MARK
        for line in self._lines:
            student = self._people.student_of(line)
            if student is not None and line.exercise == exercise and found.get(student) == NO_MARK:
                found[student] = _fixed(line.score)
        return found

    def changed(self, exercise: str) -> dict[int, str]:
        """Return the points of the students whose points were changed, by hand or by a rule: `3.5/4`, `면제`."""
        measured = self.measured(exercise)
        before = {index: points(score) for index, score in measured.points.items()}
        full = f"/{points(measured.full)}"
        return {
            index: mark if mark == _EXCUSED else mark + full
            for index, mark in self.marks(exercise).items()
            if mark != before.get(index, NO_MARK)
        }

    def total(self, index: int) -> str:
        """Return a student's final mark: `46.4/100`, `면제`, `—` if there is none yet."""
        number = len(self._marked.submissions)
        mark = (
            self._marked.submissions[index].mark
            if index < number
            else self._marked.absent[index - number].mark
        )
        if mark is None:
            return NO_MARK
        return _EXCUSED if mark.score is None else f"{points(mark.score)}/{points(mark.max_score)}"

    def labels(self, groups: Sequence[Group], exercise: str) -> list[str]:
        """Return the groups' points, measured and now: `3/4점`, `3 → 4/4점`, `—`."""
        measured, marks = self.measured(exercise), self.marks(exercise)
        return [_label(group, measured, marks) for group in groups]


def _label(group: Group, measured: Measured, marks: Mapping[int, str]) -> str:
    first = group.members[0]
    before = points(measured.points[first]) if first in measured.points else NO_MARK
    now = {marks.get(index, before) for index in group.members}
    full = f"/{points(measured.full)}점"
    if now == {before}:
        return before if before == NO_MARK else before + full
    numbers = sorted((one for one in now if one not in (NO_MARK, _EXCUSED)), key=float)
    spread = "~".join(dict.fromkeys((numbers[0], numbers[-1]))) + full if numbers else ""
    return f"{before} → {' · '.join(filter(None, (spread, _EXCUSED if _EXCUSED in now else '')))}"


def _fixed(written: str) -> str:
    """Return a fixed score as marks are shown; one that nobody can read as it is."""
    try:
        score, _ = parse_score(written)
    except (ValueError, IndexError):
        return NO_MARK
    return _EXCUSED if score is None else points(score)
