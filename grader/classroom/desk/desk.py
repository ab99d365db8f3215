"""What the desk knows and does: views of a graded class as plain data, and the changes that people ask for."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from grader.base.errors import HanstepError
from grader.classroom.desk import rubric
from grader.classroom.desk.behaviour import Group, feedback_on, groups_of, status_of
from grader.classroom.desk.card_tree import card_tree
from grader.classroom.desk.changes import Changes, DeskError, Edited
from grader.classroom.desk.people import People
from grader.course.feedback import ClassResult, Feedback
from grader.gradebook.hand_files import COMMENTS, HAND_FILES, OVERRIDES, HandLine
from grader.gradebook.marking import Rules, marked
from grader.report import words
from grader.report.html import feedback_html
from grader.report.kept_answers import Answer, Answers, Line
from grader.report.plain_text import clean, one_line, points, without_code_marks
from grader.report.results import from_json

_PROGRAMS_A_PAGE = 6
"""Maximum different programs sent at once."""
_MOST_LINES, _MOST_CHARS = 400, 300
"""Maximum lines of a program, and characters of a line, that are shown."""
_MOST_NAMES = 200
"""Maximum students of one program listed by name."""
_REUSED = 30
"""Maximum earlier texts offered again."""


@dataclass
class _Loaded:
    """The results as they are on disk at the moment."""

    result: ClassResult
    people: People
    answers: Answers
    groups: dict[str, list[Group]] = field(default_factory=dict)


class Desk:
    """One person's desk over one report folder."""

    def __init__(
        self, out: Path, who: str, names: Sequence[str], read_rules: Callable[[], Rules], *, anonymous: bool
    ) -> None:
        """Load the class.

        Args:
            out: the report's folder.
            who: the person, for the log.
            names: names of all exercises in the course, in its order.
            read_rules: reads policy and the files given by hand anew.
            anonymous: True to hide names until they are released.

        Raises:
            ResultsError: `results.json` cannot be read.
            OSError: it is missing, or cannot be opened.
        """
        self._out, self._names, self._read_rules = out, names, read_rules
        self._changes = Changes(out, who)
        self._anonymous = anonymous
        self._stamp: tuple[int, int] = (0, 0)
        self._loaded = self._load()

    # ---- views ----------------------------------------------------------------------------------------

    def overview(self) -> dict[str, Any]:
        """Return the exercises with the progress of the round, and what is wrong with the files."""
        loaded = self._current()
        seen, misfits = self._seen(), self._misfits()
        exercises = []
        for name in self._graded():
            groups = [group for group in self._groups(name) if status_of(group.sample) != "missing"]
            if groups:
                exercises.append(
                    {
                        "name": name,
                        "title": without_code_marks(groups[0].sample.title),
                        "lesson": groups[0].sample.lesson,
                        "seen": sum((name, group.key) in seen for group in groups),
                        "groups": len(groups),
                        "answers": sum(len(group.members) for group in groups),
                        "misfits": misfits[name],
                    }
                )
        return {
            "who": self._changes.who,
            "anonymous": self._anonymous,
            "folder": self._out.name,
            "students": len(loaded.result.submissions),
            "has_code": bool(loaded.answers),
            "exercises": exercises,
            "problem": self._problem(),
            "version": self.version(),
        }

    def exercise(self, name: str) -> dict[str, Any]:
        """Return an exercise's groups, and the lines that have been written about it.

        Raises:
            DeskError: nobody was graded on an exercise of this name.
        """
        self._current()
        groups, seen = self._groups(name), self._seen()
        if not groups:
            raise DeskError(f"채점한 연습 문제가 아니에요: '{one_line(name, 60)}'")
        return {
            "name": name,
            "title": without_code_marks(groups[0].sample.title),
            "groups": [self._group(group, (name, group.key) in seen) for group in groups],
            "mistakes": self._mistakes(groups),
            "written": self._written(name),
            "reuse": self._earlier_texts(name),
            "version": self.version(),
        }

    def answers(self, name: str, key: str, start: int) -> dict[str, Any]:
        """Return the different programs of a group, some at a time, each with its card.

        Raises:
            DeskError: there is no such group (any more).
        """
        loaded, group = self._current(), self._group_of(name, key)
        programs: dict[str, list[int]] = {}
        for index in loaded.people.in_order(group.members):
            student = loaded.result.submissions[index].student
            digest = loaded.answers.digest(student, name) or f"none {index}"
            programs.setdefault(digest, []).append(index)
        ordered = sorted(programs.values(), key=len, reverse=True)
        marks = self._marks(name)
        return {
            "key": key,
            "programs": [
                self._program(name, members, marks)
                for members in islice(ordered, start, start + _PROGRAMS_A_PAGE)
            ],
            "start": start,
            "total": len(ordered),
        }

    def version(self) -> int:
        """Return a number that changes when anybody changes something at a desk."""
        return self._changes.size()

    # ---- changes --------------------------------------------------------------------------------------

    def judge(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Give points with a reason, or a comment, to one student or to all whom a rule means.

        Raises:
            DeskError: the request cannot be meant.
            HanstepError: a file cannot be read.
            OSError: a file cannot be written.
        """
        loaded = self._current()
        name, scope, target = (_text(request, field) for field in ("exercise", "scope", "target"))
        if not self._groups(name):
            raise DeskError(f"채점한 연습 문제가 아니에요: '{one_line(name, 60)}'")
        submissions = loaded.result.submissions
        rule = {"mistake": rubric.MISTAKE, "group": rubric.GROUP}.get(scope, "")
        if rule:
            rule += target
            students = rubric.meant_by(rule, submissions, name)
        else:
            index = loaded.people.index(target)
            students = [] if index is None or feedback_on(submissions[index], name) is None else [index]
        if not students:
            raise DeskError("이 답을 낸 학생을 찾지 못했어요. 그 사이에 다시 채점했다면 새로 고쳐 주세요.")
        told = request.get("count", len(students))
        if told != len(students):
            raise DeskError(
                f"{told}명이라고 보여 드렸는데 그 사이에 다시 채점해서 {len(students)}명이 되었어요. "
                "새로 고치고 누구인지 본 다음 적어 주세요."
            )
        score = rubric.checked_score(_text(request, "score"), self._full(name))
        text = rubric.checked_text(_text(request, "text"), needed=True)
        told = {"exercise": name, "rule": rule}
        if score:
            text = one_line(text, 2_000)
            edit = rubric.giving_points(loaded.people, students, name, score, text, rule)
            done = self._changes.edit("points", OVERRIDES, edit, told)
        else:
            edit = rubric.giving_comment(loaded.people, students, name, text, rule)
            done = self._changes.edit("comment", COMMENTS, edit, told)
        return _told(done)

    def take_back(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Remove lines that say the same: all of them, or only those that fit no more.

        Raises:
            DeskError: the request cannot be meant.
            HanstepError: a file cannot be read.
            OSError: a file cannot be written.
        """
        file = HAND_FILES.get(_text(request, "file"))
        if file is None:
            raise DeskError("무엇을 지울지 알 수 없어요. 페이지를 새로 고쳐 주세요.")
        name = _text(request, "exercise")
        said = tuple(_text(request, field) for field in ("score", "text", "rule"))
        everything = request.get("only_misfits") is not True

        def wanted(line: HandLine) -> bool:
            same = line.exercise == name and (line.score, line.text, line.rule) == said
            return same and (everything or bool(self._misfits_among([line])))

        done = self._changes.edit(
            "remove", file, rubric.removing(wanted), {"exercise": name, "rule": said[2]}
        )
        return _told(done)

    def see(self, name: str, key: str) -> dict[str, Any]:
        """Note that a group has been seen, or that it has not if it was.

        Raises:
            DeskError: there is no such group (any more).
            OSError: the log cannot be written.
        """
        self._group_of(name, key)
        seen = (name, key) not in self._seen()
        self._changes.note("seen", {"exercise": name, "key": key, "seen": seen})
        return {"seen": seen}

    def release(self) -> dict[str, Any]:
        """Show names from now on, and log that.

        Raises:
            OSError: the log cannot be written.
        """
        self._changes.note("names", {"shown": True})
        self._anonymous = self._loaded.people.anonymous = False
        return {}

    def undo(self) -> dict[str, Any]:
        """Undo this person's last change.

        Raises:
            HanstepError: a file cannot be read.
            OSError: a file cannot be written.
        """
        undone = self._changes.undo()
        if undone is None:
            return {"undone": ""}
        if undone.what == "names":
            self._anonymous = self._loaded.people.anonymous = True
        return {"undone": undone.what, "exercise": undone.exercise, "conflicts": undone.conflicts}

    # ---- the class ------------------------------------------------------------------------------------

    def _load(self) -> _Loaded:
        path = self._out / "results.json"
        status = path.stat()
        self._stamp = status.st_mtime_ns, status.st_size
        result = from_json(path.read_bytes())
        people = People(result)
        people.anonymous = self._anonymous
        return _Loaded(result, people, Answers(self._out))

    def _current(self) -> _Loaded:
        """Return the class, loaded again if it has been graded or marked since."""
        status = (self._out / "results.json").stat()
        if (status.st_mtime_ns, status.st_size) != self._stamp:
            self._loaded = self._load()
        return self._loaded

    def _graded(self) -> list[str]:
        there = {f.exercise for s in self._loaded.result.submissions for f in s.all_feedback}
        return [*(name for name in self._names if name in there), *sorted(there - {*self._names})]

    def _groups(self, name: str) -> list[Group]:
        loaded = self._loaded
        if name not in loaded.groups:
            loaded.groups[name] = groups_of(loaded.result.submissions, name)
        return loaded.groups[name]

    def _group_of(self, name: str, key: str) -> Group:
        group = next((group for group in self._groups(name) if group.key == key), None)
        if group is None:
            raise DeskError("이 묶음이 없어요. 그 사이에 다시 채점했다면 페이지를 새로 고쳐 주세요.")
        return group

    def _seen(self) -> set[tuple[str, str]]:
        """Return (exercise, group) of all groups that somebody has seen."""
        events = self._changes.events()
        undone = {event.get("undoes") for event in events}
        seen: dict[tuple[str, str], bool] = {}
        for event in events:
            if event["what"] == "seen" and event["id"] not in undone:
                seen[str(event.get("exercise")), str(event.get("key"))] = event.get("seen") is True
        return {group for group, is_seen in seen.items() if is_seen}

    # ---- marks and lines ------------------------------------------------------------------------------

    def _marked(self) -> ClassResult:
        return marked(self._loaded.result, self._read_rules(), self._names)

    def _problem(self) -> str:
        """Return why the files given by hand cannot be used, in Korean; empty if they can."""
        try:
            self._marked()
        except HanstepError as error:
            return str(error)
        return ""

    def _marks(self, name: str) -> dict[str, str]:
        """Return each student's points for an exercise after policy and marks by hand; empty without such."""
        try:
            result = self._marked()
        except HanstepError:
            return {}
        return {
            submission.student: "면제"
            if one.dropped and one.reason
            else f"{points(one.score)}/{points(one.max_score)}"
            for submission in result.submissions
            if submission.mark is not None
            for one in submission.mark.exercises
            if one.exercise == name
        }

    def _full(self, name: str) -> float:
        sample = self._groups(name)[0].sample
        try:
            policy = self._read_rules().policy
        except HanstepError:
            policy = None
        return sample.max_score if policy is None else policy.points.get(name, sample.max_score)

    def _misfits_among(self, lines: Sequence[HandLine]) -> list[HandLine]:
        return rubric.misfits(lines, self._loaded.result, self._loaded.people)

    def _misfits(self) -> Counter[str]:
        """Return how many lines fit no more, by exercise."""
        try:
            lines = [line for file in HAND_FILES.values() for line in self._changes.read(file)]
        except HanstepError:  # told as a problem
            lines = []
        return Counter(line.exercise for line in self._misfits_among(lines))

    def _written(self, name: str) -> list[dict[str, Any]]:
        """Return what has been written about an exercise: equal lines together, with those that fit no more."""
        loaded = self._loaded
        found: dict[tuple[str, str, str, str], list[HandLine]] = {}
        for file in HAND_FILES.values():
            for line in self._changes.read(file):
                if line.exercise == name:
                    found.setdefault((file.name, line.score, line.text, line.rule), []).append(line)
        told = []
        for (file_name, score, text, rule), lines in found.items():
            students = [loaded.people.student_of(line) for line in lines]
            misfits = self._misfits_among(lines)
            missing = {*rubric.meant_by(rule, loaded.result.submissions, name)} - {*students}
            told.append(
                {
                    "file": file_name,
                    "score": score,
                    "text": text,
                    "rule": rule,
                    "lines": len(lines),
                    "students": [
                        loaded.people.shown(s) for s in islice((s for s in students if s is not None), 5)
                    ],
                    "misfits": len(misfits),
                    "missing": len(missing),
                }
            )
        return told

    def _earlier_texts(self, name: str) -> list[str]:
        """Return reasons and comments written before, those about this exercise first."""
        lines = [line for file in HAND_FILES.values() for line in self._changes.read(file)]
        ordered = sorted(lines, key=lambda line: line.exercise != name)
        return list(islice(dict.fromkeys(line.text for line in ordered), _REUSED))

    def _mistakes(self, groups: Sequence[Group]) -> list[dict[str, Any]]:
        """Return the mistakes named in an exercise, with everybody who made them and each one's group."""
        found: dict[str, dict[str, Any]] = {}
        for group in groups:
            for named in group.sample.diagnosis.mistakes:
                title = without_code_marks(words.either(named))
                entry = found.setdefault(
                    named.id, {"id": named.id, "title": title, "students": 0, "names": []}
                )
                entry["students"] += len(group.members)
                room = _MOST_NAMES - len(entry["names"])
                members = self._loaded.people.in_order(group.members)[:room]
                entry["names"] += [[self._loaded.people.shown(index), group.key] for index in members]
        return [*found.values()]

    # ---- one group ------------------------------------------------------------------------------------

    def _group(self, group: Group, seen: bool) -> dict[str, Any]:
        sample = group.sample
        return {
            "key": group.key,
            "title": self._loaded.people.hidden(group.members[0], group.title),
            "status": status_of(sample),
            "status_name": words.status_name(sample),
            "sign": words.mark(sample),
            "points": f"{points(sample.score)}/{points(sample.max_score)}",
            "students": len(group.members),
            "mistakes": sample.mistake_ids,
            "seen": seen,
        }

    def _program(self, name: str, members: Sequence[int], marks: Mapping[str, str]) -> dict[str, Any]:
        """Return one program with everybody who wrote it; places and marks are those of the first."""
        loaded = self._loaded
        first = loaded.result.submissions[members[0]]
        feedback = feedback_on(first, name)
        answer = loaded.answers.of(first.student, name)
        return {
            "students": [
                {
                    "id": loaded.people.ids[index],
                    "name": loaded.people.shown(index),
                    "mark": marks.get(loaded.result.submissions[index].student, ""),
                }
                for index in members[:_MOST_NAMES]
            ],
            "count": len(members),
            "file": "" if answer is None else loaded.people.hidden(members[0], one_line(answer.file, 80)),
            "own": self._lines(members[0], () if answer is None else answer.own),
            "rest": self._lines(members[0], () if answer is None else answer.rest),
            "marks": [] if feedback is None or answer is None else _marks_at_lines(feedback, answer),
            "card": []
            if feedback is None
            else self._hidden_in_card(members[0], card_tree(feedback_html(feedback))),
        }

    def _hidden_in_card(self, student: int, tree: list[Any]) -> list[Any]:
        hidden = self._loaded.people.hidden
        return [
            hidden(student, node)
            if isinstance(node, str)
            else [node[0], node[1], self._hidden_in_card(student, node[2])]
            for node in tree
        ]

    def _lines(self, student: int, lines: Sequence[Line]) -> list[list[Any]]:
        people = self._loaded.people
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


def _text(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name, "")
    return value if isinstance(value, str) else ""


def _told(done: Edited) -> dict[str, Any]:
    return {"added": len(done.added), "removed": len(done.removed), "left_alone": done.left_alone}
