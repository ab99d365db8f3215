"""What the desk knows and does: views of a graded class as plain data, and the changes that people ask for."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from grader.classroom.desk import rubric, targets
from grader.classroom.desk.authors import (
    Authors,
    Question,
    asking_first,
    asking_what_to_do_beside,
    told,
    undone_in_words,
)
from grader.classroom.desk.behaviour import Group, groups_of, status_of
from grader.classroom.desk.changes import Changes, DeskError, Edit, Edited
from grader.classroom.desk.drafts import Drafts
from grader.classroom.desk.moment import Moments
from grader.classroom.desk.people import People
from grader.classroom.desk.programs import mistakes_in, program
from grader.classroom.desk.rubric import Measured
from grader.classroom.desk.standing import NO_MARK, Standing
from grader.classroom.desk.targets import text_in
from grader.classroom.desk.written import WHOLE, Written
from grader.course.feedback import ClassResult
from grader.gradebook.hand_files import COMMENTS, HAND_FILES, OVERRIDES, HandFile, HandLine
from grader.gradebook.marking import Rules
from grader.report import words
from grader.report.kept_answers import Answers
from grader.report.plain_text import one_line, without_code_marks
from grader.report.results import from_json

_PROGRAMS_A_PAGE = 6
"""Maximum different programs sent at once."""
_MOST_FOUND = 12
"""Maximum students listed for a text that was searched."""


@dataclass
class _Loaded:
    """The results as they are on disk at the moment."""

    result: ClassResult
    people: People
    answers: Answers
    moments: Moments
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
        self._authors = Authors(self._changes)
        self.drafts = Drafts(out, self._changes)
        self._anonymous = anonymous
        self._stamp: tuple[int, int] = (0, 0)
        self._loaded = self._load()

    # ---- views ----------------------------------------------------------------------------------------

    def overview(self) -> dict[str, Any]:
        """Return the exercises with the progress of the round, and what is wrong with the files."""
        loaded = self._current()
        seen, (misfits, again) = self._seen(), self._written.doubtful()
        exercises = []
        for name in self._graded():
            groups = [group for group in self._groups(name) if not group.is_blank]
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
                        "again": again[name],
                    }
                )
        return {
            "who": self._changes.who,
            "anonymous": self._anonymous,
            "folder": self._out.name,
            "students": len(loaded.result.submissions),
            "has_code": bool(loaded.answers),
            "exercises": exercises,
            "again": self._written.again_as_a_whole(),
            "problem": loaded.moments.now().problem,
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
            "groups": self._group_list(name, groups, seen),
            "mistakes": mistakes_in(groups, self._loaded.people),
            "written": self._written.about(name, self._measured(name), groups),
            "reuse": self._written.earlier_texts(name),
            "version": self.version(),
        }

    def answers(self, name: str, key: str, start: int, student: str = "") -> dict[str, Any]:
        """Return the different programs of a group, some at a time, each with its card; first that of this student.

        Raises:
            DeskError: there is no such group (any more).
        """
        loaded, group = self._current(), self._group_of(name, key)
        programs: dict[str, list[int]] = {}
        wanted = loaded.people.index(student)
        for index in loaded.people.in_order(group.members):
            digest = loaded.answers.digest(loaded.result.submissions[index].student, name) or f"none {index}"
            programs.setdefault(digest, []).append(index)
        ordered = sorted(programs.values(), key=lambda members: (wanted not in members, -len(members)))
        standing = self._standing()
        marks = {} if standing is None else standing.changed(name)
        again = self._written.students(name, stale=True)
        return {
            "key": key,
            "programs": [
                program(
                    loaded.result, loaded.people, loaded.answers, name, _first(wanted, members), marks, again
                )
                for members in islice(ordered, start, start + _PROGRAMS_A_PAGE)
            ],
            "start": start,
            "total": len(ordered),
        }

    def found(self, wanted: str) -> dict[str, Any]:
        """Return the students in whose name or number this text stands, with their marks."""
        people, standing = self._current().people, self._standing()
        found = people.found(wanted)
        return {
            "students": [
                {
                    "id": people.ids[index],
                    "name": people.shown(index),
                    "total": "" if standing is None else standing.total(index),
                    "handed_in": people.handed_in(index),
                }
                for index in found[:_MOST_FOUND]
            ],
            "more": max(0, len(found) - _MOST_FOUND),
        }

    def student(self, short_id: str) -> dict[str, Any]:
        """Return one student: the answers, the marks, and what was written about the submission as a whole.

        Raises:
            DeskError: there is no such student.
        """
        loaded, standing = self._current(), self._standing()
        people, index = loaded.people, loaded.people.index(short_id)
        if index is None:
            raise DeskError("이 학생을 찾지 못했어요. 페이지를 새로 고쳐 주세요.")
        written = self._written.about(WHOLE, self._measured(WHOLE))
        exercises = []
        for name in self._graded():
            group = next((group for group in self._groups(name) if index in group.members), None)
            if group is not None:
                (label,) = self._labels(name, [replace(group, members=(index,))], standing)
                exercises.append(
                    {
                        "name": name,
                        "title": without_code_marks(group.sample.title),
                        "key": group.key,
                        "sign": words.mark(group.sample),
                        "told": people.hidden(group.members[0], group.title),
                        "points": label,
                    }
                )
        return {
            "id": short_id,
            "name": people.shown(index),
            "handed_in": people.handed_in(index),
            "total": "" if standing is None else standing.total(index),
            "exercises": exercises,
            "written": [entry for entry in written if short_id in entry["ids"]],
        }

    def version(self) -> str:
        """Return a text that changes when anybody changes something at a desk, or the class is graded again."""
        try:
            graded = (self._out / "results.json").stat().st_mtime_ns
        except FileNotFoundError:  # being replaced
            graded = 0
        return f"{self._changes.size()} {graded}"

    # ---- changes --------------------------------------------------------------------------------------

    def judge(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Give points with a reason, or a comment, to one student or to all whom a rule means.

        If that would replace what somebody else wrote, or add points to others that one student was given, and the
        request does not say so, nothing is written, and the answer is the question, with what each choice adds to the
        request.

        Raises:
            DeskError: the request cannot be meant.
            HanstepError: a file cannot be read.
            OSError: a file cannot be written.
        """
        name, rule, students = self._meant(request)
        standing = self._standing()
        if standing is None:
            raise DeskError(self._loaded.moments.now().problem)
        measured = standing.measured("" if name == WHOLE else name)
        score = rubric.checked_score(text_in(request, "score"), measured.full)
        text = rubric.checked_text(text_in(request, "text"), needed=True)
        logged: dict[str, Any] = {"exercise": name, "rule": rule}
        key = text_in(request, "group")
        if any(group.key == key for group in self._groups(name)):
            logged |= {"key": key, "seen": True}  # what was judged has been seen
        new = HandLine("", "", name, score, one_line(text, 2_000) if score else text, rule)
        people = self._loaded.people
        if request.get("only_new") is True:
            sheet = (OVERRIDES if score else COMMENTS).read(self._out)
            students = rubric.yet_to_get(sheet, people, students, new, measured)
        if score:
            beside = text_in(request, "beside")
            edit = rubric.giving_points(people, students, new, measured, alone=beside == "replace")
            if request.get("replace") is not True:
                edit = asking_first(edit, self._authors, self._changes.who, people)
            if not beside:
                edit = asking_what_to_do_beside(edit, self._authors, people, students, new)
            try:
                done = self._changes.edit("points", OVERRIDES, edit, logged)
            except Question as question:
                return {"ask": str(question), "choices": question.choices}
        else:
            edit = rubric.giving_comment(people, students, new)
            done = self._changes.edit("comment", COMMENTS, edit, logged)
        waiting = self._waiting(done) if score else 0
        return {
            **self._told(done),
            "left": rubric.left_in_words(done, score, people),
            "replaced": told(done.removed, self._authors, people) if score and done.removed else "",
            "waiting": waiting,
        }

    def _meant(self, request: Mapping[str, Any]) -> tuple[str, str, list[int]]:
        """Return the exercise, the rule and the students that a request means.

        Raises:
            DeskError: there are none, or not those whom the page named.
        """
        loaded = self._current()
        if request.get("scope") == "whole":
            return WHOLE, "", targets.one_student(loaded.people, request)
        name = text_in(request, "exercise")
        if not self._groups(name):
            raise DeskError(f"채점한 연습 문제가 아니에요: '{one_line(name, 60)}'")
        return name, *targets.meant_by_request(loaded.people, loaded.result.submissions, name, request)

    def take_back(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Remove lines that say the same: all of them, or only those that fit no more.

        Raises:
            DeskError: the request cannot be meant.
            HanstepError: a file cannot be read.
            OSError: a file cannot be written.
        """
        return self._edit_chosen_lines("remove", request, rubric.removing)

    def keep(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Let judgements of earlier answers stand for the answers that have been handed in since.

        Raises:
            DeskError: the request cannot be meant.
            HanstepError: a file cannot be read.
            OSError: a file cannot be written.
        """
        return self._edit_chosen_lines(
            "keep", request, lambda wanted: rubric.keeping(self._loaded.people, wanted)
        )

    def _edit_chosen_lines(
        self, what: str, request: Mapping[str, Any], edit: Callable[[Callable[[HandLine], bool]], Edit]
    ) -> dict[str, Any]:
        """Make an edit of the lines that a request means, and return what the page shows."""
        file, wanted = self._chosen_lines(request)  # reads the results anew if they have changed
        told = {"exercise": text_in(request, "exercise"), "rule": text_in(request, "rule")}
        counted = targets.refusing_another_number(edit(wanted), request)
        return self._told(self._changes.edit(what, file, counted, told))

    def _chosen_lines(self, request: Mapping[str, Any]) -> tuple[HandFile, Callable[[HandLine], bool]]:
        """Return the file, and which of its lines a request means: equal ones, perhaps of one student only.

        Raises:
            DeskError: the request cannot be meant.
        """
        people = self._current().people
        file = HAND_FILES.get(text_in(request, "file"))
        if file is None:
            raise DeskError("무엇을 바꿀지 알 수 없어요. 페이지를 새로 고쳐 주세요.")
        name, student = text_in(request, "exercise"), None
        if request.get("student"):
            (student,) = targets.one_student(people, {**request, "target": request["student"]})
        said = tuple(text_in(request, field) for field in ("score", "text", "rule"))
        everything = request.get("only_misfits") is not True

        def wanted(line: HandLine) -> bool:
            same = line.exercise == name and (line.score, line.text, line.rule) == said
            own = student is None or people.student_of(line) == student
            return same and own and (everything or bool(self._written.misfits_among([line])))

        return file, wanted

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
        told = {"undone": undone.what, "exercise": undone.exercise, "conflicts": undone.conflicts}
        group = next((g for g in self._groups(undone.exercise) if g.key == undone.key), None)
        return {**told, **undone_in_words(undone, group, self._loaded.people)}

    # ---- the class ------------------------------------------------------------------------------------

    def _load(self) -> _Loaded:
        path = self._out / "results.json"
        status = path.stat()
        self._stamp = status.st_mtime_ns, status.st_size
        result = from_json(path.read_bytes())
        answers = Answers(self._out)
        people = People(result, answers)
        people.anonymous = self._anonymous
        moments = Moments(self._out, self._names, self._read_rules, result, people, answers, self._authors)
        return _Loaded(result, people, answers, moments)

    def _current(self) -> _Loaded:
        """Return the class, loaded again if it has been graded or marked since."""
        status = (self._out / "results.json").stat()
        if (status.st_mtime_ns, status.st_size) != self._stamp:
            self._loaded = self._load()
        return self._loaded

    @property
    def _written(self) -> Written:
        return self._loaded.moments.now().written

    def _standing(self) -> Standing | None:
        """Return where the marks stand; None if the files given by hand cannot be used."""
        return self._loaded.moments.now().standing

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
        """Return (exercise, group) of all groups that somebody has seen or judged."""
        events = self._changes.events()
        undone = {event.get("undoes") for event in events}
        seen: dict[tuple[str, str], bool] = {}
        for event in events:
            if isinstance(event.get("seen"), bool) and event["id"] not in undone:
                seen[str(event.get("exercise")), str(event.get("key"))] = event["seen"]
        return {group for group, is_seen in seen.items() if is_seen}

    # ---- marks and lines ------------------------------------------------------------------------------

    def _labels(self, name: str, groups: Sequence[Group], standing: Standing | None) -> list[str]:
        if standing is None:
            return [f"{words.mark_in_points(group.sample)}점" for group in groups]
        return standing.labels(groups, name)

    def _measured(self, name: str) -> Measured | None:
        standing = self._standing()
        return None if standing is None else standing.measured("" if name == WHOLE else name)

    def _waiting(self, done: Edited) -> int:
        """Return for how many of these students there is no final mark yet, though a score was given."""
        standing, people = self._standing(), self._loaded.people
        students = {people.student_of(line) for line in done.added}
        if standing is None:
            return 0
        return sum(one is not None and standing.total(one) == NO_MARK for one in students)

    def _told(self, done: Edited) -> dict[str, Any]:
        students = [self._loaded.people.student_of(line) for line in (done.added or done.removed)]
        names = self._loaded.people.listed([student for student in students if student is not None])
        return {"added": len(done.added), "removed": len(done.removed), "names": names}

    # ---- one group ------------------------------------------------------------------------------------

    def _group_list(
        self, name: str, groups: Sequence[Group], seen: Collection[tuple[str, str]]
    ) -> list[dict[str, Any]]:
        people = self._loaded.people
        written, again = self._written.students(name), self._written.students(name, stale=True)
        return [
            {
                "key": group.key,
                "title": people.hidden(group.members[0], group.title),
                "status": status_of(group.sample),
                "blank": group.is_blank,
                "status_name": words.status_name(group.sample),
                "sign": words.mark(group.sample),
                "points": label,
                "students": len(group.members),
                "written": sum(member in written for member in group.members),
                "again": sum(member in again for member in group.members),
                "mistakes": group.sample.mistake_ids,
                "seen": (name, group.key) in seen,
            }
            for group, label in zip(groups, self._labels(name, groups, self._standing()), strict=True)
        ]


def _first(wanted: int | None, members: Sequence[int]) -> list[int]:
    """Return the students with this one in the first place, if they are among them: their card is shown."""
    return sorted(members, key=lambda index: index != wanted)
