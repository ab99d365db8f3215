"""Turn a trace into feedback: judge it, diagnose it, and find the learner's lines. `check` and `grade` both use it."""

import ast
import re
from dataclasses import dataclass, replace

from grader.course.course import Exercise
from grader.course.feedback import CheckResult, Diagnosis, Feedback, FirstDifference, Moment, Named, Status
from grader.judging.diagnose import diagnose
from grader.judging.judge import Verdict, judge
from grader.judging.parsing import parsed
from grader.judging.reference import Reference
from grader.observe.trace import Trace
from grader.observe.wording import one_of
from grader.submission.source_file import Place, SourceFile


@dataclass(frozen=True)
class Origin:
    """The learner's code that was judged; it turns a line of the program into one that the learner can find."""

    file: str | None
    """Name of the file; None for code without a file."""
    source: str
    """The learner's code as it was judged."""
    first_line: int
    """Line of the program at which `source` begins, from 1."""
    places: tuple[Place, ...] = ()
    """Place of each line of the program, from its first; empty if the program's lines are the learner's."""

    @classmethod
    def of_file(cls, source: SourceFile) -> "Origin":
        """Return the origin of code that was read from a file of a submission."""
        return cls(source.name, source.text, 1, source.places)

    def place(self, line: int | None) -> Place | None:
        """Return where the learner finds this line of the program; None if there is no such place."""
        if line is None:
            return None
        if not self.places:
            return Place(None, line)
        return self.places[line - 1] if 0 < line <= len(self.places) else None

    def text(self, line: int | None) -> str | None:
        """Return the line as written, without the spaces around it; None if it is not in the source."""
        lines = self.source.split("\n")  # as Python counts: splitlines() also breaks at form feeds
        index = -1 if line is None else line - self.first_line
        return lines[index].strip() if 0 <= index < len(lines) else None


MESSAGES: dict[Status, str] = {
    "passed": "통과했어요.",
    "failed": "처음 보는 실수예요.",
    "error": "코드가 예외를 냈어요.",
    "timeout": "제한 시간 안에 끝나지 않았어요.",
    "memory": "메모리를 너무 많이 썼어요. 텐서를 쌓아 두는 곳이 있는지 확인해 보세요.",
    "crashed": "실행하던 프로세스가 죽었어요. 프로세스를 끝내는 코드가 있는지 확인해 보세요.",
    "output": "출력이 너무 많아요. 반복문 안의 print를 지워 주세요.",
    "missing": "제출물에 이 함수가 없어요.",
    "unreadable": "파일을 읽을 수 없어요.",
}
"""Message for each status, where nothing more specific can be said."""


_LINE_SHOWN = 400
"""Maximum number of characters of a learner's line shown beside a mistake."""
_LINE_OF_NOTE = re.compile(r"(\d{1,6})번째 줄(?=: )")
"""Line number at the start of a warning from the trace."""
_NOT_BEGUN = "아직 비어 있어요. 함수 안을 채운 다음 다시 확인해 보세요."


def out_of_time(seconds: float) -> str:
    """Return the message for code that did not end within its limit."""
    return f"{seconds:g}초 안에 끝나지 않아 멈췄어요. 끝나지 않는 반복이 있는지 확인해 보세요."


def kept_waiting(seconds: float) -> str:
    """Return the message for code that did not end although it hardly computed: it waits for something."""
    return (
        f"{seconds:g}초를 기다려도 끝나지 않아 멈췄어요. "
        "`sleep`이나 입력처럼 기다리기만 하는 곳이 있는지 확인해 보세요."
    )


def not_begun_in_time(seconds: float) -> str:
    """Return the message for an exercise that was not run because its submission had used up its time."""
    return f"앞의 연습 문제들이 제출물 하나의 제한 시간 {seconds:g}초를 다 써서 실행하지 못했어요."


def assess(exercise: Exercise, trace: Trace, reference: Reference, origin: Origin) -> Feedback:
    """Judge a trace and return the feedback, with a diagnosis if it does not pass.

    Args:
        exercise: the exercise that was played.
        trace: what the submission did.
        reference: what it is compared with.
        origin: the learner's code.
    """
    verdict = judge(exercise, trace, reference.solution)
    empty = verdict.status != "passed" and _is_blank(exercise.name, trace, verdict, origin)
    # A diagnosis shows the right order of events, a part of the answer: not for a learner who has not begun.
    diagnosis = Diagnosis() if empty else diagnose(exercise, trace, verdict, reference, origin.source)
    diagnosis = _with_lines(exercise, diagnosis, origin)
    line = _line_to_show(verdict, diagnosis)
    place = origin.place(line)
    failure = verdict.failure
    return Feedback(
        lesson=exercise.lesson,
        exercise=exercise.name,
        title=exercise.title,
        status=verdict.status,
        checks=verdict.checks,
        message=_NOT_BEGUN if empty else _message(verdict, diagnosis),
        begun=not empty,
        diagnosis=_with_places(diagnosis, origin),
        line=place.line if place else None,
        cell=place.cell if place else None,
        source_line=origin.text(line),
        file=origin.file,
        error=f"{failure.type}: {failure.message}" if failure else None,
        raised=failure is not None and failure.own,
        notes=tuple(_note_with_place(warning, origin) for warning in trace.warnings),
        seconds=trace.seconds,
        kind=exercise.kind,
        because=exercise.because if verdict.status == "passed" else "",
    )


def _note_with_place(warning: str, origin: Origin) -> str:
    """Turn `7번째 줄: …` of the program into `코드 셀 2의 3번째 줄: …` of the learner's notebook."""
    found = _LINE_OF_NOTE.match(warning)
    place = origin.place(int(found[1])) if found else None
    if found is None or place is None:
        return warning
    cell = "" if place.cell is None else f"코드 셀 {place.cell}의 "
    return f"{cell}{place.line}번째 줄{warning[found.end() :]}"


def without_trace(
    exercise: Exercise, status: Status, *, message: str | None = None, file: str | None = None
) -> Feedback:
    """Return feedback for an exercise of which nothing came back to judge: missing, unreadable, timeout, crashed ….

    Args:
        exercise: the exercise; all of its checks fail.
        status: the reason.
        message: replaces the usual message of the status.
        file: name of the learner's file, if there is one.
    """
    checks = tuple(CheckResult(c.title, c.points, passed=False) for c in exercise.checks)
    return Feedback(
        exercise.lesson,
        exercise.name,
        exercise.title,
        status,
        checks,
        message or MESSAGES[status],
        file=file,
        kind=exercise.kind,
    )


def _message(verdict: Verdict, diagnosis: Diagnosis) -> str:
    """Return the feedback's one line: the named mistakes, else the exception, else the first difference."""
    if diagnosis.mistakes:
        each = [named.titles for named in diagnosis.mistakes]
        named = one_of(each[0]) if len(each) == 1 else " 그리고 ".join(map(_quoted, each))
        return f"{named} (그 밖에 다른 점이 더 있어요)" if diagnosis.unexplained else named
    failure = verdict.failure
    if failure is not None and failure.own and failure.type == "NotImplementedError":
        return "`raise NotImplementedError` 줄이 남아 있어요. 다 썼으면 그 줄을 지우고 다시 확인해 보세요."
    if failure is not None:
        return f"{MESSAGES[verdict.status]} {failure.type}: {failure.message}"
    first = diagnosis.first_difference
    return MESSAGES[verdict.status] if first is None else _in_one_line(first)


def _quoted(titles: tuple[str, ...]) -> str:
    return f"「{titles[0]}」" if len(titles) == 1 else one_of(titles)


def unnamed_message(feedback: Feedback) -> str:
    """Return the message without mistakes: the exception, else the first difference, else that of the status."""
    first = feedback.diagnosis.first_difference
    if feedback.error is not None:
        return f"{MESSAGES[feedback.status]} {feedback.error}"
    return MESSAGES[feedback.status] if first is None else _in_one_line(first)


def _in_one_line(first: FirstDifference) -> str:
    what = first.what if first.tensor is None else f"{first.what} · {first.tensor}"
    return f"{first.scenario} · {what} · 내 코드: {first.got} · 정답: {first.expected}"


def _line_to_show(verdict: Verdict, diagnosis: Diagnosis) -> int | None:
    """Return the line that raised, else that of the first mistake, else that of the learner's first event that differs.

    None if nothing points anywhere: no line is better than the first line of the function.
    """
    if verdict.failure is not None and verdict.failure.line is not None:
        return verdict.failure.line
    if verdict.status == "passed":
        return None
    if diagnosis.mistakes:
        return diagnosis.mistakes[0].line
    return next((m.line for m in diagnosis.yours if m.differs and m.line is not None), None)


def _with_lines(exercise: Exercise, diagnosis: Diagnosis, origin: Origin) -> Diagnosis:
    """Give each mistake without a line the line of the return, the method or the definition that it is about."""
    start, returns, methods = _definition(exercise.name, origin)
    wanted = {m.id: m.at for m in exercise.mistakes}

    def line_for(at: str) -> int | None:
        if at == "return":
            return returns or start
        return methods.get(at.removeprefix("def "), start)

    mistakes = tuple(
        named if named.line is not None else replace(named, line=line_for(wanted[named.ids[0]]))
        for named in diagnosis.mistakes
    )
    return replace(diagnosis, mistakes=mistakes)


def _is_blank(name: str, trace: Trace, verdict: Verdict, origin: Origin) -> bool:
    """Return True if the learner has not begun the exercise.

    This holds if a function raised the starter's NotImplementedError before any event, or no method or function has a
    statement of its own.
    """
    tree = parsed(origin.source)
    if tree is None:
        return False
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == name]
    failure = verdict.failure
    if failure is not None and failure.own and failure.type == "NotImplementedError":
        whole_class = bool(found) and isinstance(found[-1], ast.ClassDef)
        if not whole_class:
            return not any(run.events for run in trace.runs.values())
    return bool(found) and _is_empty_body(found[-1])


def _is_empty_body(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Return True if a function, or every method of a class, is empty or only raises `NotImplementedError`."""
    if isinstance(node, ast.ClassDef):
        methods = [n for n in node.body if isinstance(n, ast.FunctionDef)]
        return bool(methods) and all(_is_empty_body(method) for method in methods)
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Raise) and "NotImplementedError" in ast.unparse(statement))
        for statement in node.body
    )


def _definition(name: str, origin: Origin) -> tuple[int | None, int | None, dict[str, int]]:
    """Return the lines of the last definition of `name`, of its last return, and of the methods of a class by name.

    Lines are those of the program; None for one that does not exist.
    """
    tree = parsed(origin.source)
    if tree is None:
        return None, None, {}
    offset = origin.first_line - 1
    for node in reversed(tree.body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            returns = [n.lineno + offset for n in ast.walk(node) if isinstance(n, ast.Return)]
            methods = {n.name: n.lineno + offset for n in node.body if isinstance(n, ast.FunctionDef)}
            return node.lineno + offset, max(returns, default=None), methods
    return None, None, {}


def _with_places(diagnosis: Diagnosis, origin: Origin) -> Diagnosis:
    """Return the diagnosis with lines and cells as the learner counts them."""

    def placed(moment: Moment) -> Moment:
        place = origin.place(moment.line)
        return replace(moment, line=place.line if place else None)

    def pointed(named: Named) -> Named:
        place, text = origin.place(named.line), origin.text(named.line)
        return replace(
            named,
            line=place.line if place else None,
            cell=place.cell if place else None,
            source_line=None if text is None else text[:_LINE_SHOWN],
        )

    return replace(
        diagnosis,
        yours=tuple(placed(m) for m in diagnosis.yours),
        mistakes=tuple(pointed(m) for m in diagnosis.mistakes),
    )
