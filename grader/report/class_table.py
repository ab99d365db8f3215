"""Draw the table that ends `grader grade`: one row per student, then the class's most frequent mistakes."""

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.course.feedback import ClassResult, Feedback, SubmissionResult
from grader.report import plain_text, words
from grader.report.class_facts import (
    count_mistakes,
    feedback_to_read_first,
    is_unread,
    only_extras,
    settled_by_hand,
    tried,
    without_dropped,
)
from grader.report.class_scores import scores_of

# Numbers of entries shown: students, mistakes, and exercises whose status signs are shown one by one.
_ROWS_SHOWN = 40
_MISTAKES_SHOWN = 8
_MARKS_SHOWN = 12
_UNREAD_SHOWN = 3
"""Files shown of one submission that could not be read."""
_GAP = 3
"""Space between two columns, in terminal cells."""
_SENTENCE_CELLS = 40
"""Terminal cells a sentence needs to stand beside a student's status signs; with fewer it goes below the row."""


def class_table(result: ClassResult, width: int = 80) -> RenderableType:
    """Return the table: scores, statuses and the most telling mistake; of a large class only the lowest scores."""
    result = without_dropped(result)
    submissions = list(result.submissions)
    if not submissions:
        return Text("채점한 학생이 없어요.")
    queue = _queue(result)
    submissions = [s for s in submissions if not is_unread(s)]
    if not submissions:
        return Group(*queue)
    parts: list[RenderableType] = []
    shown = submissions
    if len(submissions) > _ROWS_SHOWN:
        order = sorted(range(len(submissions)), key=lambda i: (submissions[i].score, i))[:_ROWS_SHOWN]
        shown = [submissions[i] for i in order]
        caption = (
            f"{len(submissions)}명 가운데 점수가 낮은 {_ROWS_SHOWN}명이에요. 전체는 index.html에 있어요."
        )
        parts.append(Text(caption))
    begun, untouched = _lessons(submissions)
    parts += [_students(shown, begun, width), _legend(submissions)]
    if untouched:
        parts.append(Text(f"아무도 시작하지 않은 레슨: {', '.join(untouched)}", style="dim"))
    parts += [
        _overall(submissions),
        *_mistakes([s for s in submissions if not s.unmatched], width),
    ]
    parts += [*_scrutiny(submissions), *queue]
    return Group(*parts)


def _queue(result: ClassResult) -> list[RenderableType]:
    """Return what could not be read: whose file it is, why, and the command that grades it."""
    queue = result.ungraded
    if not queue:
        return []
    settled = settled_by_hand(result)
    by_hand = f". 그중 {settled:,}개에는 점수를 직접 주었어요" if settled else ""
    lines: list[RenderableType] = [
        Text(f"\n채점하지 못한 제출 {len(queue)}개 (0점이 아니에요{by_hand})", style="bold yellow")
    ]
    for submission in queue[:_ROWS_SHOWN]:
        student = plain_text.one_line(submission.student, 40)
        told = [f"{plain_text.one_line(u.file, 80)}: {u.reason}" for u in submission.unread[:_UNREAD_SHOWN]]
        lines.append(Text(f"  {student}"))
        lines += [Padding(Text(plain_text.one_line(line, 400), style="dim"), (0, 0, 0, 4)) for line in told]
    if len(queue) > _ROWS_SHOWN:
        lines.append(Text(f"  그 밖의 {len(queue) - _ROWS_SHOWN}개는 index.html에 있어요."))
    if result.regrade:
        lines.append(Text(f"  파일을 고친 다음: {result.regrade}"))
    return lines


def _lessons(submissions: Sequence[SubmissionResult]) -> tuple[list[str], list[str]]:
    """Return the ids of the lessons that somebody began, and of the others."""
    begun = {f.lesson: False for s in submissions for f in s.feedbacks}
    for feedback in (f for s in submissions for f in s.feedbacks if tried(f)):
        begun[feedback.lesson] = True
    return [key for key, some in begun.items() if some], [key for key, some in begun.items() if not some]


def _students(submissions: Sequence[SubmissionResult], lessons: Sequence[str], width: int) -> RenderableType:
    """Return one row per student; the feedback to read first stands at its end, or below it if that is too narrow."""
    rows = [_cells(submission, lessons) for submission in submissions]
    heads = ["학생", *(f"레슨 {key}" if len(lessons) == 1 else key for key in lessons), "상태"]
    widths = [max(cell_len(head), *(row[i].cell_len for row in rows)) for i, head in enumerate(heads)]
    widths[0] = min(widths[0], max(8, width // 4))
    for row in rows:
        row[0] = Text(_cut_in_the_middle(row[0].plain, widths[0]))
    firsts = [_to_read_first(submission) for submission in submissions]
    if width - sum(widths) - _GAP * len(widths) < _SENTENCE_CELLS:
        return _rows_with_details_below(heads, widths, rows, firsts)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, width=width)
    _add_columns(table, heads, widths)
    table.add_column("먼저 볼 것", ratio=1, overflow="fold")
    for row, first in zip(rows, firsts, strict=True):
        table.add_row(*row, first)
    return table


def _rows_with_details_below(
    heads: Sequence[str], widths: Sequence[int], rows: Sequence[Sequence[Text]], firsts: Sequence[Text]
) -> RenderableType:
    """Return the rows with the feedback to read first below each.

    A cell of a rich table cannot span columns, so each row is a table of its own.
    """

    def line(cells: Sequence[Text]) -> Table:
        table = Table.grid(padding=(0, _GAP, 0, 0))
        _add_columns(table, heads, widths)
        table.add_row(*cells)
        return table

    parts: list[RenderableType] = [Text(), line([Text(head, style="bold") for head in heads])]
    parts.append(Text("─" * (sum(widths) + _GAP * (len(widths) - 1))))
    for row, first in zip(rows, firsts, strict=True):
        parts.append(line(row))
        if first:
            parts.append(Padding(first, (0, 0, 0, 4)))
    return Group(*parts, Text())


def _add_columns(table: Table, heads: Sequence[str], widths: Sequence[int]) -> None:
    for place, (head, width) in enumerate(zip(heads, widths, strict=True)):
        number = 0 < place < len(heads) - 1
        table.add_column(
            head, width=width, justify="right" if number else "left", no_wrap=True, overflow="ellipsis"
        )


def _cut_in_the_middle(name: str, cells: int) -> str:
    """Return a name in at most so many cells; its end stays, where a student's number or a file's ending stands."""
    if cell_len(name) <= cells:
        return name
    end = name
    while cell_len(end) > cells // 2:
        end = end[1:]
    beginning = name
    while cell_len(beginning) + 1 + cell_len(end) > cells:
        beginning = beginning[:-1]
    return f"{beginning}…{end}"


def _cells(submission: SubmissionResult, lessons: Sequence[str]) -> list[Text]:
    cells = [Text(plain_text.one_line(submission.student, 80))]
    for lesson in lessons:
        own = [f for f in submission.feedbacks if f.lesson == lesson]
        score, most = sum(f.score for f in own), sum(f.max_score for f in own)
        cells.append(Text(f"{plain_text.points(score)}/{plain_text.points(most)}" if own else ""))
    return [*cells, _marks(submission.feedbacks)]


def _to_read_first(submission: SubmissionResult) -> Text:
    if extras := only_extras(submission):
        return Text(plain_text.without_code_marks(words.extras_only(extras)))
    telling = feedback_to_read_first(submission)
    if telling is None:
        return Text()
    return Text(f"{telling.exercise}: {plain_text.without_code_marks(words.summary(telling))}")


def _marks(feedbacks: Sequence[Feedback]) -> Text:
    """Return one status sign per exercise; for many exercises, how often each sign occurs."""
    marks = [words.mark(f) for f in feedbacks]
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
    return Text(f"{order}\n✓ 통과  ✗ 실패·예외  ! 끝까지 실행 못 함  – 답안 없음·시작 안 함", style="dim")


def _overall(submissions: Sequence[SubmissionResult]) -> Text:
    scores = scores_of(submissions)
    passed = sum(s.passed for s in submissions if not s.unmatched)
    if not scores.values:
        return Text(f"\n점수를 매긴 학생이 없어요 · 모두 통과 {passed}명")
    kind = f"{scores.name}: " if scores.final else ""
    return Text(
        f"\n{kind}{len(scores.values)}명 · 평균 {scores.mean:.1f} · 중앙값 {scores.median:.1f} "
        f"· 만점 {plain_text.points(scores.full)} · 모두 통과 {passed}명"
    )


def _mistakes(submissions: Sequence[SubmissionResult], width: int) -> list[RenderableType]:
    counts = count_mistakes(submissions)
    if not counts:
        return []
    table = Table(box=None, show_header=False, pad_edge=False, width=width)
    table.add_column(overflow="fold", ratio=1)
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
