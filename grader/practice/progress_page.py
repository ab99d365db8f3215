"""Draw a learner's progress: `progress()` in a notebook, `grader progress` in a terminal."""

import io
from collections.abc import Iterator, Sequence
from datetime import date

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from grader.course.course import Course
from grader.course.reading import load_course
from grader.judging.solution import exercise_source
from grader.learner.earned import describe
from grader.learner.history import ExerciseHistory
from grader.learner.next_section import section
from grader.learner.overview import Overview, duration, overview
from grader.learner.progress import Progress
from grader.notebook.shown import Shown
from grader.practice.best_times import BestTimes
from grader.practice.drill import time_in_words
from grader.practice.schedule import day_of
from grader.practice.today import MOST_DUE, today
from grader.practice.visit import comes_back, opening
from grader.report.html import page
from grader.report.plain_text import without_code_marks
from grader.report.words import KIND_NAMES

# Entries shown of each list; `_WIDEST` is in terminal columns.
_MOST_MISTAKES = 8
_MOST_LOCKED = 4
_MOST_TIMES = 3
_WIDEST = 90


_OPENS = "여는 명령: `{}`"
"""What opens the clinic; in JupyterLab `practice.js` puts a button in its place."""
_HOW_THEY_COME_BACK = (
    f"확인하거나 클리닉에서 만난 실수 {{}}개는 잊을 만할 때 클리닉에서 다시 나와요. 하루에 많아야 {MOST_DUE}개이고, "
    "바로 찾을수록 더 나중에 나와요."
)
NOT_OVERCOME = "고칠 줄이나 정답을 보고 고친 실수는, 클리닉이나 드릴에서 스스로 해내면 넘어선 것으로 세요."
RESET_STAYS = "되돌린 연습 문제 {}개를 다시 풀 수 있어요. XP와 업적, 넘어선 실수는 그대로 남아요."


def progress() -> Shown:
    """Show how far the learner has come: level, lessons, next exercise, mistakes, achievements."""
    practice = practice_lines(date.today(), "clinic()", 'drill("{}")')
    content = overview(Progress.load())
    return Shown(progress_html(content, practice), progress_text(content, practice))


def progress_html(content: Overview, practice: Sequence[str] = (), *, links: bool = True) -> str:
    """Return the page as HTML; with `links` it links to the lesson notebooks, which lie beside the current one."""
    return page(
        "progress.html.j2",
        o=content,
        practice=practice,
        opens=_OPENS.format("clinic()"),
        section_of=section,
        links=links,
        kinds=KIND_NAMES,
        most=_MOST_MISTAKES,
        most_locked=_MOST_LOCKED,
        counts=_counts,
        not_overcome=_not_overcome(content),
        reset=RESET_STAYS.format(content.reset) if content.reset else "",
        time=duration(content.minutes) if content.minutes else "",
        won=sum(row.won for row in content.achievements),
    )


def practice_lines(on: date, clinic: str, drill: str) -> list[str]:
    """Return Korean lines on the clinic and the drill: what there is today or comes next, and the best times.

    Args:
        on: today.
        clinic: what opens the clinic where the lines are read.
        drill: what opens the drill of the exercise that is formatted in.
    """
    learner, course = Progress.load(), load_course()
    lines = [line, _OPENS.format(clinic)] if (line := opening(on)) else []
    plan = today(learner, course, on)
    if not lines and plan.following is not None:
        lines.append(f"클리닉: {comes_back(plan.following, plan.coming)}")
    if plan.kept:
        lines.append(_HOW_THEY_COME_BACK.format(plan.kept))
    if (again := _passed_with_answer(learner, course, on)) is not None:
        lines.append(f"정답을 보고 통과한 `{again}`, 이번에는 기억만으로: `{drill.format(again)}`")
    best = sorted(BestTimes().of.items(), key=lambda item: item[1].on, reverse=True)[:_MOST_TIMES]
    if best:
        times = ", ".join(f"{name} {time_in_words(one.seconds)}" for name, one in best)
        lines.append(f"드릴에서 가장 빨랐던 기록: {times}")
    return lines


def _passed_with_answer(learner: Progress, course: Course, on: date) -> str | None:
    """Return a function that passed on an earlier day after its answer was shown, and was not drilled since."""
    for name, done in learner.history.exercises.items():
        if name not in course.exercises or not done.with_answer or done.first_pass is None:
            continue
        if day_of(done.first_pass) >= on or (done.drilled or 0) > done.first_pass:
            continue
        if exercise_source(course.exercise(name)).startswith("def "):  # a class is too long for a drill
            return name
    return None


def _not_overcome(content: Overview) -> str:
    """Return the Korean sentence on mistakes that a pass did not overcome; empty if there are none."""
    return NOT_OVERCOME if any(row.told for row in content.mistakes) else ""


def _counts(done: ExerciseHistory) -> str:
    """Return how an exercise went so far, in Korean; empty if nothing has happened."""
    with_answer = done.passed and done.with_answer
    counts = [
        "전에 통과" if done.is_reset else "",
        f"확인 {done.checks}" if done.checks else "",
        f"힌트 {done.hints_taken}" if done.hints_taken and not with_answer else "",
        "정답을 보고 통과" if with_answer else "",
    ]
    return " · ".join(filter(None, counts))


def progress_text(content: Overview, practice: Sequence[str] = (), width: int = 80) -> str:
    """Return the page as plain text, `width` columns wide."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_jupyter=False)
    with console.capture() as captured:
        print_progress(console, content, practice)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def print_progress(console: Console, content: Overview, practice: Sequence[str] = ()) -> None:
    """Print the page on a terminal."""
    width = min(console.width, _WIDEST)
    console.print(Group(*_blocks(content, practice, width)), width=width, highlight=False)


def _blocks(content: Overview, practice: Sequence[str], width: int) -> Iterator[RenderableType]:
    for notice in content.notices:
        yield Text(f"! {notice}", "yellow")
    yield from _level(content, width)
    yield Text()
    if content.following is None:
        yield Text("모든 연습 문제를 통과했어요. 여기까지 온 것을 축하해요!", "bold green")
    else:
        yield Text.assemble(("다음 ", "dim"), (without_code_marks(content.following.exercise.title), "bold"))
        yield Padding(Text(describe(content.following)), (0, 0, 0, 5))
        yield Padding(Text("여는 명령: grader next", "dim"), (0, 0, 0, 5))
    for line in practice:
        yield Padding(Text(without_code_marks(line)), (0, 0, 0, 5))
    yield Text()
    yield _lessons(content, width)
    if content.reset:
        yield Padding(Text(RESET_STAYS.format(content.reset), "dim"), (0, 0, 0, 3))
    yield from _mistakes(content)
    yield from _achievements(content)


def _level(content: Overview, width: int) -> Iterator[RenderableType]:
    reached = content.standing
    head = Table.grid(expand=True)
    head.add_column()
    head.add_column(justify="right")
    name = Text.assemble((f"레벨 {reached.number} ", "dim"), (reached.level.name, "bold cyan"))
    head.add_row(name, Text(f"{reached.xp:,} XP", "bold"))
    yield head
    yield Padding(_bar(reached.share, width, "cyan"), 0)  # alone, it would not end its line
    onward = reached.following
    yield Text(
        "마지막 레벨이에요."
        if onward is None
        else f"다음 레벨 「{onward.name}」까지 {onward.xp - reached.xp:,} XP",
        "dim",
    )
    facts = [f"{content.streak}일 이어서 공부 (모두 {content.days}일)"] if content.days else []
    facts += [f"확인하고 예측하며 {duration(content.minutes)}"] if content.minutes else []
    facts += [f"예측 {content.predictions}개 가운데 {content.right}개 맞음"] if content.predictions else []
    if facts:
        yield Text(" · ".join(facts))


def _bar(share: float, width: int, style: str) -> RenderableType:
    return ProgressBar(
        total=1,
        completed=share,
        width=width,
        style="bright_black",
        complete_style=style,
        finished_style=style,
    )


def _lessons(content: Overview, width: int) -> RenderableType:
    table = Table.grid(padding=(0, 1), expand=True)
    for ratio in (None, 1, None, None):
        table.add_column(ratio=ratio, no_wrap=ratio is None, justify="left" if ratio else "right")
    for row in content.lessons:
        every = len(row.lesson.counted)
        bar = _bar(row.percent / 100, max(6, width // 5), "green")
        count = Text.assemble((f"{row.passed}/{every}", "dim"), f" {row.percent:>3}%")
        table.add_row(row.lesson.id, Text(row.lesson.title, "bold"), bar, count)
        if not row.begun or row.passed == every:
            continue
        for exercise, done in row.exercises:
            title = " ".join(
                filter(None, (KIND_NAMES.get(exercise.kind), without_code_marks(exercise.title)))
            )
            mark, style = ("✓", "green") if done.passed else ("↺" if done.is_reset else "·", "dim")
            line = Text.assemble((f"{mark} ", style), title, (f" ({exercise.name})", "dim"))
            table.add_row("", line, Text(_counts(done), "dim"), "")
    return table


def _mistakes(content: Overview) -> Iterator[RenderableType]:
    if not content.mistakes:
        return
    mastered = sum(row.mastered for row in content.mistakes)
    yield Text()
    yield Text(f"만난 실수 {len(content.mistakes)}개 · 넘어선 실수 {mastered}개", "bold")
    if told := _not_overcome(content):
        yield Padding(Text(told, "dim"), (0, 0, 0, 2))
    for row in content.mistakes[:_MOST_MISTAKES]:
        mark = ("✓ ", "green") if row.mastered else ("· ", "dim")
        where = f" {without_code_marks(row.exercise)}" + (f" · {row.times}번" if row.times > 1 else "")
        yield Padding(Text.assemble(mark, without_code_marks(row.title), (where, "dim")), (0, 0, 0, 2))
    if len(content.mistakes) > _MOST_MISTAKES:
        yield Padding(Text(f"그 밖에 {len(content.mistakes) - _MOST_MISTAKES}개", "dim"), (0, 0, 0, 4))


def _achievements(content: Overview) -> Iterator[RenderableType]:
    won = [row for row in content.achievements if row.won]
    locked = [row for row in content.achievements if not row.won]
    yield Text()
    yield Text(f"업적 {len(won)}/{len(content.achievements)}", "bold")
    for row in (*won, *locked[:_MOST_LOCKED]):
        mark, style = ("★", "yellow") if row.won else ("☆", "dim")
        beside = row.on if row.won else row.count
        text = Text.assemble(
            (f"{mark} ", style),
            (row.achievement.title, "bold" if row.won else ""),
            (f" {without_code_marks(row.achievement.text)}", "dim"),
            (f" {beside}" if beside else "", "dim"),
        )
        yield Padding(text, (0, 0, 0, 2))
    if len(locked) > _MOST_LOCKED:
        yield Padding(Text(f"그 밖에 {len(locked) - _MOST_LOCKED}개", "dim"), (0, 0, 0, 4))
