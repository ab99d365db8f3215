"""Define `grader drill`: write an exercise's function from memory against the clock, here or in an editor."""

import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from grader.base.errors import CommandError
from grader.cli.terminal import out, say
from grader.practice.best_times import BestTimes

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
    from grader.practice import drill as drilling

    exercise = load_course().exercise(name)
    template = drilling.blank(exercise)
    if blank is not None:
        _write_blank(blank, drilling.blank_file(exercise))
        say(f"빈 틀을 만들었어요: {blank}")
        say(f"시간을 재며 채우려면: grader drill {name} --file {blank}")
        return
    if file is not None and not file.exists():
        _write_blank(file, drilling.blank_file(exercise))
    if file is not None and not drilling.is_blank_file(exercise, file_text(file)):
        raise CommandError(
            f"{file}은 {name}의 빈 틀이 아니에요. 빈 틀에서 시작해야 시간을 잴 수 있어요. "
            f"새 파일로 해 보세요: grader drill {name} --file drill_{name}.py"
        )
    times = BestTimes()
    _introduce(name, template if file is None else "", times)
    ask = _typed if file is None else _from_editor(file)
    seconds = 0.0
    while True:
        began = time.monotonic()
        written = ask()
        seconds += time.monotonic() - began  # judging does not count as the learner's time
        if written is None:
            say("드릴을 그만뒀어요. 기록은 남기지 않았어요.")
            raise typer.Exit(1)
        with out.status("확인하는 중이에요"):
            source = drilling.with_body(exercise, written) if file is None else written
            feedback = drilling.judged(exercise, source)
        if feedback is None:
            say(f"{name} 정의를 읽지 못했어요. 들여쓰기와 괄호를 확인해 보세요.")
        else:
            from grader.learner.settings import as_chosen
            from grader.report.text import print_feedback

            print_feedback(out, as_chosen(feedback, Path.cwd()))
            if feedback.status == "passed":
                break
        again = "처음부터 다시 써 보세요." if file is None else "고치고 저장해 보세요."
        say(f"지금까지 {drilling.time_in_words(seconds)}. {again} 시계가 다시 가요.")
    say(drilling.result(seconds, times.record(name, seconds)))
    _table(times)


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


def _introduce(name: str, template: str, times: BestTimes) -> None:
    from rich.panel import Panel
    from rich.syntax import Syntax

    from grader.practice.drill import set_aside_note, time_in_words

    if note := set_aside_note(times):
        say(note)
    best = times.of.get(name)
    record = "아직 없어요" if best is None else f"{time_in_words(best.seconds)} ({best.on})"
    out.print(f"드릴 [bold]{name}[/bold] · 가장 빠른 기록: {record}", highlight=False)
    if template:
        shown = template[: template.index("    # 여기에")].strip()
        out.print(Panel(Syntax(shown, "python", background_color="default", word_wrap=True)))
        say("함수 안의 줄을 기억만으로 쓰세요. 함수 안의 첫 들여쓰기는 쓰지 않아도 돼요.")
        say("다 쓰면 빈 줄에서 Enter를 눌러요. 아무것도 쓰지 않고 Enter를 누르면 그만둬요.")


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


def _from_editor(file: Path) -> Callable[[], str | None]:
    say(f"편집기에서 {file}을 채우고 저장하세요. 지금부터 시간을 재요.")

    def ask() -> str | None:
        try:
            answer = input("저장했으면 Enter, 그만두려면 q를 쓰고 Enter: ")
        except EOFError:
            return None
        return None if answer.strip().lower() == "q" else file_text(file)

    return ask


def _table(times: BestTimes) -> None:
    from rich.table import Table

    from grader.practice.drill import time_in_words

    table = Table(title="드릴 기록", title_justify="left")
    for column in ("연습 문제", "가장 빠른 기록", "날짜", "바르게 쓴 횟수"):
        table.add_column(column)
    for name, best in times.of.items():
        table.add_row(name, time_in_words(best.seconds), str(best.on), f"{best.tries}번")
    out.print(table)
