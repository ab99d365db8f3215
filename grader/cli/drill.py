"""Define `grader drill`: write an exercise's function from memory against the clock, here or in an editor."""

import os
import select
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.base.errors import CommandError
from grader.cli.terminal import out, say, say_nothing_when_slow
from grader.notebook.terminal_keys import latin
from grader.observe.wording import with_particle
from grader.practice.best_times import Best, BestTimes

if TYPE_CHECKING:
    from grader.course.course import Exercise
    from grader.course.feedback import Feedback

_FIRST = "train_step"


def drill(
    name: Annotated[
        str, typer.Argument(help="연습 문제 이름. train_step, train_step_extras, accumulate 같은 것")
    ] = _FIRST,
    file: Annotated[
        Path | None, typer.Option(help="터미널 대신 내 편집기로 이 파일에 써요. 없으면 빈 틀을 만들어요")
    ] = None,
    blank: Annotated[
        Path | None, typer.Option(help="빈 틀만 이 파일에 쓰고 끝내요. 시간은 재지 않아요")
    ] = None,
) -> None:
    """기억만으로 함수를 쓰고 시간을 재요. 순서가 달라도 바르면 통과예요."""
    from grader.course.reading import load_course, require_exercise

    require_exercise(name)  # before torch is imported
    from grader.learner.progress import Progress
    from grader.practice import drill as drilling

    exercise = load_course().exercise(name)
    drilling.signature_and_docstring(exercise)  # refuses a class
    if blank is not None:
        _write_blank(blank, drilling.blank_file(exercise))
        say(f"빈 틀을 만들었어요: {blank}")
        say(f"시간을 재며 채우려면: grader drill {name} --file {blank}")
        return
    if file is not None and not file.exists():
        _write_blank(file, drilling.blank_file(exercise))
    if file is not None and not drilling.is_blank_file(exercise, file_text(file)):
        raise CommandError(
            f"{with_particle(str(file), '은/는')} {name}의 빈 틀이 아니에요. 빈 틀에서 시작해야 시간을 잴 수 있어요. "
            f"새 파일로 해 보세요: grader drill {name} --file drill_{name}.py"
        )
    times = BestTimes()
    if note := drilling.set_aside_note(times):
        say(note)
    again = True
    while again:
        _introduce(exercise, times, shown=file is None)
        seconds = _until_right(
            exercise, _editor(exercise, file, times.of.get(name)), in_file=file is not None
        )
        before = times.record(name, seconds)
        Progress.load().record_drill(name)
        say(drilling.result(seconds, before))
        if line := drilling.recent_times(times.of[name]):
            say(line)
        again = file is None and is_terminal() and asked("한 번 더 하려면 Enter, 끝내려면 q: ") == ""
        if again:
            out.clear()  # the answer still stands there
    _table(times)
    say(f"다시 하려면: grader drill {name} · 이어서 공부하려면: grader next")


def is_terminal() -> bool:
    """Return True if a learner sits before a terminal that can move its cursor."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def clock_line(seconds: float, best: float | None) -> str:
    """Return what the clock shows: the time, and the time to beat."""
    from grader.practice.drill import time_in_words

    minutes, rest = divmod(int(seconds), 60)
    goal = "첫 기록에 도전해요" if best is None else f"최고 기록 {time_in_words(best)}"
    return f"{minutes}:{rest:02} · {goal}"


Ask = Callable[[str, int | None, float], str | None]
"""Gets the text as it was handed in last, the line at fault if known, and the seconds so far; returns the new text."""


def _until_right(exercise: "Exercise", ask: Ask, *, in_file: bool) -> float:
    """Let the learner write until the function is right; return the seconds spent on writing.

    Raises:
        typer.Exit: the learner gave up.
    """
    from grader.practice import drill as drilling
    from grader.report.text import print_summary

    seconds, written, at, is_first_miss = 0.0, "", None, True
    while True:
        began = time.monotonic()
        new = ask(written, at, seconds)
        seconds += time.monotonic() - began  # judging does not count as the learner's time
        if new is None:
            say(f"드릴을 그만뒀어요. 기록은 남기지 않았어요. 다시 하려면: grader drill {exercise.name}")
            raise typer.Exit(1)
        written = new
        source = written if in_file else drilling.with_body(exercise, written)
        feedback = drilling.judged(exercise, source, lambda: out.status("확인하는 중이에요"))
        if feedback is None:
            say(f"{exercise.name} 정의를 읽지 못했어요. 들여쓰기와 괄호를 확인해 보세요.")
        elif feedback.status == "passed":
            out.print("[bold green]✓ 통과했어요[/bold green]")
            return seconds
        else:
            from grader.learner.settings import as_chosen

            told, line = (
                as_chosen(feedback, Path.cwd()),
                _line_to_mend(feedback, drilling.first_line(exercise)),
            )
            if is_first_miss:
                told = drilling.after_first_miss(told)
                line = line if told == feedback else None
            print_summary(out, told, first_only=False)
            at, is_first_miss = line, False
        again = "고치고 저장해 보세요." if in_file else _AGAIN[is_terminal()]
        say(f"지금까지 {drilling.time_in_words(seconds)}. {again} 시계가 다시 가요.")


def _line_to_mend(feedback: "Feedback", first_line: int) -> int | None:
    """Return the line of the body, from 1, at whose end the repair is typed; None if none is known."""
    if feedback.line is None:
        return None
    named = feedback.diagnosis.mistakes[:1]
    missing_before = any(mistake.before and mistake.line == feedback.line for mistake in named)
    return max(0, feedback.line - first_line + 1 - missing_before)


_AGAIN = {
    True: "쓴 것은 그대로 있어요. 고친 다음 Ctrl-D나 맨 아래 빈 줄의 Enter로 내세요.",
    False: "처음부터 다시 써 보세요.",
}


def _editor(exercise: "Exercise", file: Path | None, best: Best | None) -> Ask:
    """Return how the learner is asked for the function: in the terminal, line by line from a pipe, or in a file."""
    if file is not None:
        say(f"편집기에서 {with_particle(str(file), '을/를')} 채우고 저장하세요. 지금부터 시간을 재요.")
    elif not is_terminal():
        return lambda *_: _typed()
    from grader.cli import drill_editor
    from grader.practice.drill import first_line

    def ask(text: str, at: int | None, seconds: float) -> str | None:
        began = time.monotonic() - seconds

        def clock() -> str:
            return clock_line(time.monotonic() - began, None if best is None else best.seconds)

        if file is None:
            return drill_editor.edit(text, first_line=first_line(exercise), clock=clock, at=at)
        answer = drill_editor.wait(_SAVED, clock) if is_terminal() else asked(_SAVED)
        return None if answer is None or answer == "q" else file_text(file)

    return ask


_SAVED = "저장했으면 Enter, 그만두려면 q를 쓰고 Enter: "


def asked(prompt: str) -> str | None:
    """Return the typed line in lower case, a single key in Latin letters; None at the end of the input."""
    try:
        typed = input(prompt).strip().lower()
    except EOFError:
        return None
    return latin(typed) if len(typed) == 1 else typed


def _write_blank(path: Path, template: str) -> None:
    from grader.base.files import write_whole

    if path.exists():
        raise CommandError(f"이미 있는 파일이에요: {path}. 덮어쓰지 않아요. 다른 이름을 주세요.")
    write_whole(path, template)


def file_text(path: Path) -> str:
    """Return the file's text with Python's line ends.

    Raises:
        CommandError: it is not a file, or not UTF-8 text.
    """
    if not path.is_file():
        raise CommandError(f"파일이 아니에요: {path}. 파일 하나의 경로를 주세요.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(
            f"UTF-8로 쓴 파일이 아니에요: {path}. 편집기에서 UTF-8로 저장해 주세요."
        ) from error


def _introduce(exercise: "Exercise", times: BestTimes, *, shown: bool) -> None:
    """Show the exercise, with `shown` its first lines too, and wait until the learner is ready."""
    from rich.panel import Panel

    from grader.practice.drill import first_line, signature_and_docstring, to_beat
    from grader.report.terminal_text import code_of

    record = to_beat(exercise, times.of.get(exercise.name))
    out.print(f"드릴 [bold]{exercise.name}[/bold] · {record}", highlight=False)
    if not shown:
        return
    code = signature_and_docstring(exercise).rstrip()
    start = first_line(exercise) - len(code.splitlines())
    out.print(Panel(code_of(code, start=start)))
    say("함수 안의 줄을 기억만으로 쓰세요. 함수 안의 첫 들여쓰기는 쓰지 않아도 돼요.")
    if not is_terminal():
        say("다 쓰면 빈 줄에서 Enter를 눌러요. 아무것도 쓰지 않고 Enter를 누르면 그만둬요.")
        return
    say_nothing_when_slow()
    loading = threading.Thread(target=_load)  # while the learner reads and writes
    loading.start()
    if asked("준비되면 Enter를 누르세요. 그때부터 시간을 재요. ") is None:
        raise typer.Exit(1)
    if loading.is_alive():
        with out.status("PyTorch를 불러오는 중이에요. 시계는 아직 가지 않아요."):
            loading.join()
    out.rule("[bold green]시작![/bold green]", align="left", style="green")


def _load() -> None:
    """Import what judging needs."""
    from grader.grading.warm import warm_up

    warm_up()


def _typed() -> str | None:
    """Return the lines typed or pasted up to an empty one that is not in the middle of a paste; None if none."""
    lines: list[str] = []
    while True:
        try:
            line = input("    ")
        except EOFError:
            break
        if not line.strip() and not _more_is_pasted():
            break
        lines.append(line)
    return "\n".join(lines) + "\n" if "".join(lines).strip() else None


def _more_is_pasted() -> bool:
    """Return True if a terminal holds further lines already: nobody types that fast."""
    if not sys.stdin.isatty():
        return False
    try:
        return bool(select.select([sys.stdin], [], [], 0.05)[0])
    except (OSError, ValueError):  # Windows selects sockets only
        return False


def _table(times: BestTimes) -> None:
    from rich.table import Table

    from grader.practice.drill import time_in_words

    table = Table(title="드릴 기록", title_justify="left")
    for column in ("연습 문제", "가장 빠른 기록", "날짜", "바르게 쓴 횟수"):
        table.add_column(column)
    for name, best in times.of.items():
        table.add_row(name, time_in_words(best.seconds), str(best.on), f"{best.tries}번")
    out.print(table)
