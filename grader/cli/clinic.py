"""Define `grader clinic`: broken functions to fix in an editor, or to point at; mistakes that were made come back."""

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from grader.base.errors import CommandError
from grader.cli.drill import asked, file_text, is_terminal
from grader.cli.progress import DataDir
from grader.cli.terminal import out, say
from grader.observe.wording import with_particle
from grader.report.plain_text import one_line

if TYPE_CHECKING:
    from grader.practice.visit import Answer, Visit

_Key = TypeVar("_Key", int, str)


def clinic(
    name: Annotated[
        str | None,
        typer.Argument(
            help="이 연습 문제의 코드만. 아직 통과하지 않은 것도 되지만, 정답이 거의 보여요",
            show_default=False,
        ),
    ] = None,
    real: Annotated[bool, typer.Option("--real", help="공개 저장소에 실제로 있었던 버그를 고쳐요")] = False,
    more: Annotated[bool, typer.Option("--more", help="오늘 볼 것을 다 봤어도 새 코드를 더 받아요")] = False,
    folder: Annotated[
        Path | None,
        typer.Option(help="고칠 파일을 둘 폴더. 주지 않으면 레슨 곁의 clinic", show_default=False),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """틀린 함수를 찾아 고쳐요. 내가 했던 실수는 며칠 뒤에 다시 나와요."""
    if name is not None:
        from grader.course.reading import require_exercise

        require_exercise(name)  # before torch is imported
    from grader.practice.visit import closing, draws_of, opening, visits

    today = date.today()
    began = time.monotonic()
    if name is None and not real and (line := opening(today)):
        _tell(line)
    cases = visits(today, lambda: draws_of(today), exercise=name, real=real, more=more)
    seen = 0
    while True:
        with out.status("코드를 고르는 중이에요"):
            visit = next(cases, None)
        if visit is None:
            break
        if seen and not _wants_another(time.monotonic() - began):
            break
        seen += 1
        if not _go_through(visit, folder or _folder_beside_lessons()):
            break
    if name is None and not real:
        for line in closing(today):
            _tell(line)
    else:
        again = " ".join(filter(None, ("grader clinic", name or "", "--real" if real else "")))
        say(f"이어서 하려면: {again} · 오늘 볼 것: grader clinic")


def _folder_beside_lessons() -> Path:
    """Return the folder `clinic` in the learner's folder, from where the command runs; else in the current one."""
    from grader.course.reading import load_course

    places = [part.place for part in load_course().parts]
    for folder in (Path(), Path("hanstep"), Path("..")):
        if any((folder / place).is_file() for place in places):
            return folder / "clinic"
    return Path("clinic")


def _tell(line: str) -> None:
    from grader.report.terminal_text import prose

    out.print(prose(line), soft_wrap=line.startswith("https://"))


def _go_through(visit: "Visit", folder: Path) -> bool:
    """Go through one case.

    Returns:
        True to go on with the next case.
    """
    file = _hand_out(visit, folder)
    keys = {"": "Enter 고치고 저장했어요", "m": "m 틀린 줄 짚기", "a": "a 답 보기", "q": "q 그만두기"}
    act = "틀린 줄을 찾았으면 줄 번호나 m을, 파일에서 고쳐 저장했으면 그냥 Enter를 누르세요."
    if not visit.can_be_pointed_at:
        del keys["m"]
        act = "파일에서 고쳐 저장하고 Enter를 누르세요."
    say(act)
    while True:
        answered = asked(f"{' · '.join(keys.values())}: ")
        if answered is None or answered == "q":
            say("여기까지 할게요. 이 코드는 푼 것으로 세지 않았어요. 오늘 다시 열면 이 코드에서 이어져요.")
            return False
        at = int(answered) if visit.can_be_pointed_at and answered.isascii() and answered.isdigit() else None
        if answered not in keys and at is None:
            typed = f"'{one_line(answered, 20)}'"
            say(f"{with_particle(typed, '이라는/라는')} 키는 없어요.")
            continue
        if answered == "a":
            reply = visit.given_up()
        elif answered == "m" or at is not None:
            _tell_of_changed_file(visit, file)
            reply = _marked(visit, at)
        else:
            reply = _judged(visit, file)
        for line in reply.lines:
            _tell(line)
        for line in reply.repair.splitlines():
            style = {"+": "green", "-": "red"}.get(line[:1])
            out.print(f"  {line}", style=style, markup=False, highlight=False)
        if reply.over:
            return True


def _hand_out(visit: "Visit", folder: Path) -> Path:
    """Write the case's file, show its code, and return the path.

    A file of an earlier case is used again. One of the same case keeps what the learner has changed in it.
    """
    from rich.panel import Panel

    from grader.base.files import write_whole
    from grader.report.terminal_text import code_of
    from grader.submission.practice_files import began_as, marked

    if folder.is_file():
        raise CommandError(f"폴더가 아니라 파일이에요: {folder}. 고칠 파일을 둘 폴더를 주세요: --folder 폴더")
    name, number = visit.case.exercise.name, 1
    while not _is_free(file := folder / f"{name}{'' if number == 1 else f'_{number}'}.py"):
        number += 1
    is_resumed = file.exists() and began_as(file_text(file), visit.case.text)
    if not is_resumed:
        write_whole(file, marked(visit.case.text, "clinic"))
    for line in visit.introduction:
        _tell(line)
    out.print(Panel(code_of(visit.case.text.rstrip())))
    say(f"편집기에서 고칠 파일: {file}{' (고치던 그대로 두었어요)' if is_resumed else ''}")
    return file


def _is_free(file: Path) -> bool:
    """Return True if there is no file, or one that the clinic wrote: a file of the learner's own is left alone."""
    from grader.submission.practice_files import is_marked

    if not file.exists():
        return True
    try:
        return is_marked(file_text(file), "clinic")
    except CommandError:
        return False


def _judged(visit: "Visit", file: Path) -> "Answer":
    from grader.practice.drill import judged
    from grader.practice.visit import Answer
    from grader.submission.practice_files import unmarked

    try:
        source = file_text(file)
    except CommandError as error:
        return Answer((str(error),), over=False)
    if unmarked(source).rstrip() == visit.case.text.rstrip():
        return Answer((f"아직 그대로예요. 고치고 저장했는지 확인해 보세요: {file}",), over=False)
    feedback = judged(visit.case.exercise, source, lambda: out.status("확인하는 중이에요"))
    if feedback is None:
        gone = f"{visit.case.exercise.name} 함수를 읽지 못했어요. 들여쓰기와 괄호를 확인해 보세요."
        return Answer((gone,), over=False)
    return visit.mended(feedback)


def _tell_of_changed_file(visit: "Visit", file: Path) -> None:
    """Say that lines are those of the code as it was handed out, if the learner has changed the file."""
    from grader.submission.practice_files import began_as, unmarked

    with suppress(CommandError):
        text = file_text(file)
        if began_as(text, visit.case.text) and unmarked(text).rstrip() != visit.case.text.rstrip():
            say(
                f"줄은 처음 받은 코드에서 짚어요. {file}에 고친 것은 그대로 있고, 그것을 내려면 그냥 Enter예요."
            )


def _marked(visit: "Visit", at: int | None = None) -> "Answer":
    """Let the learner point at the wrong line, and at the symptom if there is a question, until both are right.

    Args:
        visit: the case.
        at: the line that was typed already.
    """
    from grader.practice.visit import Answer

    while True:
        reply, at = _marked_once(visit, at), None
        if reply is None:
            return Answer(("고르지 않았어요.",), over=False)
        if reply.over:
            return reply
        for line in reply.lines:
            _tell(line)


def _marked_once(visit: "Visit", line: int | None) -> "Answer | None":
    """Return the reply to one choice; None if the learner chose nothing. What was right before is not asked again."""
    line = visit.right_line or line
    lines = _lines_of_the_body(visit)
    if line is not None and line not in lines:
        say(f"{line}번째 줄에는 고칠 코드가 없어요.")
        line = None
    if line is None:
        line = _chosen("틀린 줄은 어느 것일까요? 빠진 줄이 있으면 그 앞이나 뒤의 줄이에요.", lines)
    if line is None:
        return None
    letter = ""
    if visit.question is not None and not visit.right_symptom:
        chosen = _chosen(visit.question.text, visit.question.choices)
        if chosen is None:
            return None
        letter = chosen
    with out.status("코드를 실행해 보는 중이에요"):
        return visit.marked(line, letter)


def _lines_of_the_body(visit: "Visit") -> dict[int, str]:
    """Return the lines of code, by number, from the function's first line on and without its docstring."""
    import ast

    from grader.practice.culprits import lines_of_code

    lines, first = visit.case.text.splitlines(), ast.parse(visit.case.text).body[-1].lineno
    return {n: lines[n - 1] for n in lines_of_code(visit.case.text) if n >= first}


def _chosen(question: str, options: Mapping[_Key, str]) -> _Key | None:
    """Return the key that the learner chooses: in a terminal from a menu, else by typing it; None if none."""
    if is_terminal():
        from grader.cli.choices import choose

        return choose(question, options)
    say(question)
    for key, text in options.items():
        say(f"  {key}: {text}")
    while (typed := asked("고른 것: ") or "q") != "q":
        if (chosen := next((key for key in options if str(key) == typed), None)) is not None:
            return chosen
        there = ", ".join(map(str, options))
        say(f"'{one_line(typed, 20)}': 고를 수 있는 것은 {there}예요. 고르지 않으려면 q.")
    return None


def _wants_another(seconds: float) -> bool:
    from grader.practice.drill import time_in_words

    answered = asked(f"지금까지 {time_in_words(seconds)}. 다음으로 가려면 Enter, 그만두려면 q: ")
    return answered is not None and answered != "q"
