"""The table that ends `grader grade`: each student in a line, then what the class gets wrong most often."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.feedback import ClassResult, Feedback, SubmissionResult
from grader.report import plain_text, words

_ROWS_SHOWN = 40
_MISTAKES_SHOWN = 8
_MARKS_SHOWN = 12


@dataclass(frozen=True)
class MistakeCount:
    """How many students made a mistake."""

    id: str
    """As in results.json; empty for behaviour that no listed mistake explains."""
    title: str
    students: int
    exercises: tuple[str, ...]


def count_mistakes(submissions: Sequence[SubmissionResult]) -> list[MistakeCount]:
    """Mistakes of the class, the most frequent first, the unnamed last; each student counts once for each."""
    titles: dict[str, str] = {}
    students: dict[str, set[int]] = {}
    exercises: dict[str, dict[str, None]] = {}
    for index, submission in enumerate(submissions):
        for feedback in submission.feedbacks:
            named = [(n.id, words.either(n)) for n in feedback.diagnosis.mistakes]
            if feedback.status == "failed" and not named:
                named = [("", words.UNNAMED)]
            for key, title in named:
                titles.setdefault(key, title)
                students.setdefault(key, set()).add(index)
                exercises.setdefault(key, {})[feedback.exercise] = None
    found = [MistakeCount(key, titles[key], len(students[key]), tuple(exercises[key])) for key in titles]
    return sorted(found, key=lambda m: (m.id == "", -m.students, m.id))


def most_telling(submission: SubmissionResult) -> Feedback | None:
    """The feedback to read first: one with a named mistake, else one on code that ran, else one in a lesson that
    the student has begun. Of several, the earliest."""
    open_ones = [f for f in submission.feedbacks if f.status != "passed"]
    begun = {f.lesson for f in submission.feedbacks if f.status != "missing"}

    def weight(feedback: Feedback) -> tuple[bool, bool, bool]:
        ran = feedback.status not in ("missing", "unreadable")
        return bool(feedback.diagnosis.mistakes), ran, feedback.lesson in begun

    return max(open_ones, key=weight, default=None)


def class_table(result: ClassResult, width: int = 80) -> RenderableType:
    """Students with scores, statuses and the most telling mistake; of a large class the lowest scores."""
    submissions = list(result.submissions)
    if not submissions:
        return Text("채점한 학생이 없어요.")
    parts: list[RenderableType] = []
    shown = submissions
    if len(submissions) > _ROWS_SHOWN:
        order = sorted(range(len(submissions)), key=lambda i: (submissions[i].score, i))[:_ROWS_SHOWN]
        shown = [submissions[i] for i in order]
        caption = (
            f"{len(submissions)}명 가운데 점수가 낮은 {_ROWS_SHOWN}명이에요. 전체는 index.html에 있어요."
        )
        parts.append(Text(caption))
    parts += [
        _students(shown, width),
        _legend(submissions),
        _overall(submissions),
        *_mistakes(submissions, width),
    ]
    parts += _scrutiny(submissions)
    return Group(*parts)


def _students(submissions: Sequence[SubmissionResult], width: int) -> Table:
    lessons = list(dict.fromkeys(f.lesson for s in submissions for f in s.feedbacks))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, width=width)
    table.add_column("학생", no_wrap=True, max_width=max(8, width // 4), overflow="ellipsis")
    for lesson in lessons:
        table.add_column(f"레슨 {lesson}" if len(lessons) == 1 else lesson, justify="right", no_wrap=True)
    table.add_column("상태", no_wrap=True)
    table.add_column("먼저 볼 것", ratio=1, no_wrap=True, overflow="ellipsis")
    for submission in submissions:
        telling = most_telling(submission)
        cells = [Text(plain_text.one_line(submission.student, 80))]
        for lesson in lessons:
            own = [f for f in submission.feedbacks if f.lesson == lesson]
            score, most = sum(f.score for f in own), sum(f.max_score for f in own)
            cells.append(Text(f"{plain_text.points(score)}/{plain_text.points(most)}" if own else ""))
        first = (
            ""
            if telling is None
            else f"{telling.exercise}: {plain_text.without_code_marks(words.summary(telling))}"
        )
        table.add_row(*cells, _marks(submission.feedbacks), Text(first))
    return table


def _marks(feedbacks: Sequence[Feedback]) -> Text:
    """A mark for each exercise in turn; of many exercises how often each mark stands."""
    marks = [words.MARKS[f.status] for f in feedbacks]
    if len(marks) > _MARKS_SHOWN:
        marks = [
            f"{mark}{marks.count(mark)}" for mark in dict.fromkeys(words.MARKS.values()) if mark in marks
        ]
    out = Text()
    for index, mark in enumerate(marks):
        space = " " if index and len(mark) > 1 else ""
        out.append(space + mark, "green" if mark[0] == words.MARKS["passed"] else "red")
    return out


def _legend(submissions: Sequence[SubmissionResult]) -> Text:
    counted = any(len(s.feedbacks) > _MARKS_SHOWN for s in submissions)
    order = "기호 옆의 수는 연습 문제의 수예요." if counted else "상태는 연습 문제 순서예요."
    return Text(f"{order} ✓ 통과  ✗ 실패·예외  ! 끝까지 실행 못 함  – 답안 없음", style="dim")


def _overall(submissions: Sequence[SubmissionResult]) -> Text:
    scores = [s.score for s in submissions]
    most = max(s.max_score for s in submissions)
    passed = sum(s.passed for s in submissions)
    return Text(
        f"\n{len(scores)}명 · 평균 {fmean(scores):.1f} · 중앙값 {median(scores):.1f} "
        f"· 만점 {plain_text.points(most)} · 모두 통과 {passed}명"
    )


def _mistakes(submissions: Sequence[SubmissionResult], width: int) -> list[RenderableType]:
    counts = count_mistakes(submissions)
    if not counts:
        return []
    table = Table(box=None, show_header=False, pad_edge=False, width=width)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, width=16)
    for count in counts[:_MISTAKES_SHOWN]:
        bar = "█" * max(1, round(16 * count.students / counts[0].students))
        table.add_row(
            Text(plain_text.without_code_marks(count.title)), f"{count.students}명", Text(bar, "red")
        )
    rest = [count for count in counts[_MISTAKES_SHOWN:] if count.id]
    more = [f"그 밖에 {len(rest)}가지"] if rest else []
    more += [
        f"{words.UNNAMED.removesuffix('예요')} {c.students}명" for c in counts[_MISTAKES_SHOWN:] if not c.id
    ]
    tail = [Text(" · ".join(more), style="dim")] if more else []
    return [Text("\n가장 많이 나온 실수", style="bold"), table, *tail]


def _scrutiny(submissions: Sequence[SubmissionResult]) -> list[RenderableType]:
    names = [plain_text.one_line(s.student, 40) for s in submissions if s.scrutiny]
    if not names:
        return []
    listed = ", ".join(names[:_ROWS_SHOWN])
    return [Text(f"\n채점기를 들여다보는 코드가 있어요. index.html에서 확인해 주세요: {listed}", "yellow")]
