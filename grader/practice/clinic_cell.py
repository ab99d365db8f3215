"""`clinic` in a notebook: hands out a broken function in a new cell, and takes it back as a function."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from grader.base.errors import HanstepError
from grader.notebook.check import judge_in_kernel
from grader.notebook.shown import Shown, new_cell
from grader.practice.visit import Answer, Visit, closing, opening, share_of, visits
from grader.report.html import note_html
from grader.report.plain_text import one_line
from grader.submission.practice_cells import own_name


@dataclass
class _ClinicState:
    """The state of the clinic in this notebook: the cases to come, and the one that is open."""

    coming: Iterator[Visit] | None = None
    open: Visit | None = None
    is_daily: bool = False
    """True if the cases to come are the day's share, not further ones that were asked for."""
    draws: Callable[[], random.Random] = random.Random
    """Called once for each case, gives what draws it; a test puts one with a seed here."""


_state = _ClinicState()


def clinic(
    mended: Callable[..., Any] | str | None = None,
    *,
    line: int | None = None,
    symptom: str = "",
    answer: bool = False,
    real: bool = False,
    more: bool = False,
) -> Shown:
    """Get a broken function, hand it back mended, or point at what is wrong with it.

    Args:
        mended: the mended function; or the name of an exercise, to get cases of that one.
        line: number of the wrong line, to point it out instead of mending it.
        symptom: letter of the symptom, together with `line`; alone if the line was right before.
        answer: show the answer; the mistake then comes back soon.
        real: hand out bugs of public repositories.
        more: hand out new cases even if today's have all been seen.
    """
    try:
        if callable(mended):
            return _handed_back(mended)
        if answer or line is not None or symptom:
            visit = _state.open
            if visit is None:
                return _said(_NOTHING_OPEN)
            reply = visit.given_up() if answer else visit.marked(line, symptom)
            return _after(reply)
        if mended is not None and not isinstance(mended, str):
            return _said(
                f"clinic에는 연습 문제의 이름이나 고친 함수를 넘겨 주세요 (받은 값: {one_line(repr(mended), 60)}). "
                '예: clinic("train_step")으로 받고, clinic(train_step_clinic)으로 내요.'
            )
        return _handed_out(mended, real, more)
    except HanstepError as error:
        return _said(str(error))


_NOTHING_OPEN = "지금 받아 둔 코드가 없어요. 새 셀에서 clinic()을 실행해 주세요."


def _name(visit: Visit) -> str:
    return own_name(visit.case.exercise.name, "clinic")


def _handed_out(exercise: str | None, real: bool, more: bool) -> Shown:
    """Show the open case, or draw the next one and put it into a new cell."""
    head: list[str] = []
    if exercise is not None or real or more or _state.coming is None:
        _state.open, _state.is_daily = None, not (exercise or real or more)
        _state.coming = visits(date.today(), _state.draws, exercise=exercise, real=real, more=more)
        head = [] if real or exercise else [opening(date.today())]
    if _state.open is None:
        _state.open = next(_state.coming, None)
        if _state.open is None:
            _state.coming = None
            return _said(*closing(date.today(), "clinic()", "clinic(more=True)"))
        name = _name(_state.open)
        new_cell(f"{_state.open.case.named(name).rstrip()}\n\n\nclinic({name})")
    return _page(_state.open, head)


def _handed_back(function: Callable[..., Any]) -> Shown:
    """Judge a mended function as the answer to the open case."""
    visit = _state.open
    if visit is None:
        return _said(_NOTHING_OPEN)
    names = (_name(visit), visit.case.exercise.name)
    if getattr(function, "__name__", "") not in names:
        return _said(f"지금 받아 둔 코드는 {names[0]}이에요. clinic({names[0]})을 실행해 주세요.")
    reply = visit.mended(judge_in_kernel(visit.case.exercise, function))
    return _after(reply, "이 셀에서 더 고쳐 다시 실행하세요. 답을 보려면 `clinic(answer=True)`를 실행하세요.")


def _after(reply: Answer, again: str = "") -> Shown:
    """Show the reply; if the case is closed, say how the code is mended and how to get the next one, else `again`."""
    lines, over = reply.lines, reply.over
    below, offers = [again] if again else [], ""
    if over:
        _state.open = None
        below, offers = _next_steps()
    page = note_html(lines[1:], title=lines[0], code=reply.repair, below=below)
    # By this attribute JupyterLab takes the clicks off the case's card and knows what comes next (`practice.js`).
    text = "\n".join(filter(None, (*lines, reply.repair, *below)))
    return Shown(f"<div data-hanstep-over{offers}>{page}</div>" if over else page, text)


def _next_steps() -> tuple[list[str], str]:
    """Return Korean lines on what comes after a closed case, and the end of the attribute that tells JupyterLab."""
    if not _state.is_daily:
        return ["다음 코드를 받으려면 `clinic()`을 실행하세요."], ""
    done, every = share_of(date.today())
    if done < every:
        return [f"오늘 몫 {done}/{every}. 다음 코드를 받으려면 `clinic()`을 실행하세요."], ""
    return [f"오늘 몫을 끝냈어요 ({done}/{every}). 더 하려면 `clinic(more=True)`를 실행하세요."], '="all"'


def _page(visit: Visit, head: list[str]) -> Shown:
    """Show a case: its introduction, its code with line numbers, and the choices of symptoms."""
    name, code = _name(visit), visit.case.named(_name(visit))
    title, *lines = visit.introduction
    lines = [*filter(None, head), *lines]
    below = ["아래 셀에서 고쳐 실행하세요."]
    otherwise = [f"코드를 새 셀에 옮겨 고친 다음 `clinic({name})`을 실행하세요."]
    choices: list[str] = []
    if visit.can_be_pointed_at:
        what, call = "줄", "clinic(line=줄 번호)"
        if visit.question is not None:
            what, call = "줄과 증상", 'clinic(line=줄 번호, symptom="글자")'
        below = [
            f"틀린 {what}을 누르거나, 아래 셀에서 고쳐 실행하세요. 줄이 빠졌으면 그 앞이나 뒤의 줄이에요."
        ]
        otherwise.append(f"고치지 않고 짚으려면 `{call}`를 실행하세요.")
    otherwise.append("답을 보려면 `clinic(answer=True)`를 실행하세요.")
    if visit.question is not None:
        below.append(visit.question.text)
        choices = [f"{letter}: {text}" for letter, text in visit.question.choices.items()]
    numbered = "\n".join(f"{n:>3}  {text}" for n, text in enumerate(code.splitlines(), start=1))
    page = note_html(
        lines,
        title=title,
        code=code,
        below=below,
        choices=choices,
        numbered=True,
        pick=visit.can_be_pointed_at,
        otherwise=otherwise,
    )
    return Shown(page, "\n".join([title, *lines, *below, *otherwise, *choices, "", numbered]))


def _said(*lines: str) -> Shown:
    return Shown(note_html(lines), "\n".join(lines))
