"""Define `grader clinic`: broken functions to fix in an editor, or to point at; mistakes that were made come back."""

import random
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.base.errors import CommandError
from grader.cli.drill import file_text
from grader.cli.progress import DataDir
from grader.cli.terminal import out, say

if TYPE_CHECKING:
    from grader.practice.visit import Answer, Visit


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
    folder: Annotated[Path, typer.Option(help="고칠 파일을 둘 폴더")] = Path("clinic"),
    data_dir: DataDir = None,
) -> None:
    """틀린 함수를 찾아 고쳐요. 내가 했던 실수는 며칠 뒤에 다시 나와요."""
    if name is not None:
        from grader.course.reading import require_exercise

        require_exercise(name)  # before torch is imported
    from grader.practice.visit import closing, opening, visits

    today = date.today()
    began = time.monotonic()
    if name is None and not real and (line := opening(today)):
        _tell(line)
    cases = visits(today, random.Random(), exercise=name, real=real, more=more)
    seen = 0
    while True:
        with out.status("코드를 고르는 중이에요"):
            visit = next(cases, None)
        if visit is None:
            break
        if seen and not _wants_another(time.monotonic() - began):
            break
        seen += 1
        if not _go_through(visit, folder):
            break
    for line in closing(today) if name is None and not real else ():
        _tell(line)


def _tell(line: str) -> None:
    from grader.report.text import prose

    out.print(prose(line), soft_wrap=True)


def _go_through(visit: "Visit", folder: Path) -> bool:
    """Go through one case.

    Returns:
        True to go on with the next case.
    """
    file = _hand_out(visit, folder)
    keys = ["고치고 저장했으면 Enter", "답 보기 a", "그만두기 q"]
    if visit.question is not None:
        keys.insert(1, "줄과 증상 고르기 m")
    while True:
        answered = _ask(f"{' · '.join(keys)}: ")
        if answered is None or answered == "q":
            say("여기까지 할게요. 이 코드는 기록하지 않았어요.")
            return False
        if answered == "a":
            reply = visit.given_up()
        elif answered == "m" and visit.question is not None:
            reply = _marked(visit)
        else:
            reply = _judged(visit, file)
        for line in reply.lines:
            _tell(line)
        if reply.over:
            return True


def _hand_out(visit: "Visit", folder: Path) -> Path:
    """Write the case's file under a free name, show its code, and return the path."""
    from rich.panel import Panel
    from rich.syntax import Syntax

    from grader.base.files import write_whole
    from grader.submission.practice_files import marked

    if folder.is_file():
        raise CommandError(f"폴더가 아니라 파일이에요: {folder}. 고칠 파일을 둘 폴더를 주세요: --folder 폴더")
    name, number = visit.case.exercise.name, 1
    while (file := folder / f"{name}{'' if number == 1 else f'_{number}'}.py").exists():
        number += 1
    write_whole(file, marked(visit.case.text, "clinic"))
    for line in visit.introduction:
        _tell(line)
    shown = Syntax(
        visit.case.text.rstrip(), "python", line_numbers=True, background_color="default", word_wrap=True
    )
    out.print(Panel(shown))
    say(f"편집기에서 고칠 파일: {file}")
    return file


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


def _marked(visit: "Visit") -> "Answer":
    from grader.practice.visit import Answer

    assert visit.question is not None  # the key is offered only if there is a question
    line = _ask("틀린 줄의 번호 (빠진 줄이 있으면 그 앞이나 뒤의 줄): ") or ""
    if not line.isdecimal():
        return Answer(("줄의 번호를 숫자로 적어 주세요.",), over=False)
    say(f"「{visit.question.scenario}」에서 처음 드러나는 증상은 무엇일까요?")
    for letter, text in visit.question.choices.items():
        say(f"  {letter}: {text}")
    letter = _ask(f"증상 ({', '.join(visit.question.choices)}): ") or ""
    if letter not in visit.question.choices:
        return Answer((f"{', '.join(visit.question.choices)} 가운데 하나를 적어 주세요.",), over=False)
    return visit.marked(int(line), letter)


def _wants_another(seconds: float) -> bool:
    from grader.practice.drill import time_in_words

    answered = _ask(f"지금까지 {time_in_words(seconds)}. 다음으로 가려면 Enter, 그만두려면 q: ")
    return answered is not None and answered != "q"


def _ask(prompt: str) -> str | None:
    """Return the typed line in lower case; None at the end of the input."""
    try:
        return input(prompt).strip().lower()
    except EOFError:
        return None
