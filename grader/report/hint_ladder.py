"""Word the hints about the mistakes that a check names: what to think of, where to look, and what to write.

The answer is the step after these. A step that nothing is known for is empty and left out. Where the card has told the
mistake's name, the first step says where to look, too, unless the card has shown that place: a hint has to tell more
than the card. Where nothing is known to write, the place stays a step of its own, so that two hints come before the
answer.

What is written last is the edit of the learner's own code (`judging.own_edit`), in words and as the lines look
afterwards; it is known for the mistake that is named first. Without one, a line of the solution stands in for it, but
only if it can stand in the learner's code as it is: lines of a program of another shape would only confuse.
"""

import ast
import re
from dataclasses import replace
from itertools import chain, repeat
from textwrap import dedent

from grader.course.feedback import Feedback, NamedMistake, OwnEdit, Repair
from grader.observe.wording import one_of, with_particle

STEP_NAMES = ("생각할 것", "볼 곳", "고칠 줄")
"""Korean names of the steps."""
_MOST_CHARACTERS = 2_000
"""Maximum length of a step: it is kept with the learner's progress."""
_MOST_INLINE = 40
"""Maximum length of code inside a sentence; longer code stands below it."""

_ON_PRINTS = "함수 안에서 찍은 것은 확인한 결과 아래에 나와요. 다 보았으면 찍는 줄을 지우세요."
"""What a hint that asks for a print goes on with: only a check calls the function; `printed.py` shows its output."""

_Steps = tuple[str, str, str]
"""The steps about one mistake, see `STEP_NAMES`."""


def hints_by_mistake(feedback: Feedback, source: str, repair: Repair) -> tuple[tuple[str, _Steps], ...]:
    """Return (id, steps) of each mistake that the feedback names, as Markdown, see `STEP_NAMES`; a step may be empty.

    Args:
        feedback: the feedback.
        source: the learner's code.
        repair: when the card tells the mistakes' names; held back, the last step tells it.
    """
    own_edits = chain([feedback.own_edit], repeat(None))
    mistakes = zip(feedback.diagnosis.mistakes, own_edits, strict=False)
    return tuple((named.id, _steps(named, edit, source, repair)) for named, edit in mistakes)


def _steps(named: NamedMistake, edit: OwnEdit | None, source: str, repair: Repair) -> _Steps:
    """Return the steps about a mistake.

    The place is left out if the card shows the same line, unless it would be the only step besides what to think of.
    """
    is_told = repair == "at-once"
    name = "" if is_told else f"{one_of(named.titles)}. {named.explain}"
    what = _line_of_the_solution(named, source) if edit is None else _edit_in_words(edit, named)
    last = "\n".join(filter(None, (name, what)))
    place = "" if last and is_told and _is_on_the_card(named, edit) else _place(named, edit)
    first = _with_print_reminder(named.hint)
    steps = ("\n".join(filter(None, (first, place))), "", last) if is_told and last else (first, place, last)
    return steps[0][:_MOST_CHARACTERS], steps[1][:_MOST_CHARACTERS], steps[2][:_MOST_CHARACTERS]


def without_clues(feedback: Feedback) -> Feedback:
    """Return the feedback without the hints of its mistakes, for a card below which they are asked for one by one."""
    mistakes = tuple(replace(named, hint="") for named in feedback.diagnosis.mistakes)
    return replace(feedback, diagnosis=replace(feedback.diagnosis, mistakes=mistakes))


def _with_print_reminder(hint: str) -> str:
    """Return the hint; if it asks for a print, with where to read it, and that it must go before all checks pass."""
    return f"{hint} {_ON_PRINTS}" if "찍어" in hint else hint


def _is_on_the_card(named: NamedMistake, edit: OwnEdit | None) -> bool:
    """Return True if the card shows the line that the place would show."""
    if edit is None or edit.effect == "inserts":
        return named.line is not None
    if edit.effect == "guards":
        return named.before and (named.line, named.cell) == (edit.first, edit.cell)
    is_there = edit.first == edit.last == named.line and edit.cell == named.cell
    return is_there and edit.effect in ("rewrites", "deletes")


def _place(named: NamedMistake, edit: OwnEdit | None) -> str:
    """Return where to look, and the learner's line there; empty if that is not known.

    Of an edit that inserts lines, the card's place leads: either the edit inserts them there (`own_edit`), or the card
    has named a line that is wrong as it is.
    """
    if edit is None or (edit.effect == "inserts" and named.line is not None):
        if named.line is None:
            return ""
        beside = " 앞을" if named.before else " 뒤를" if named.after else "을"
        code = _code(named.source_line) if named.source_line else ""
        return "\n".join(filter(None, (f"{named.line}번째 줄{beside} 보세요.", code)))
    if edit.effect == "inserts":
        return f"{edit.behind}번째 줄 뒤에 빠진 것이 있어요.\n{_code(edit.line_behind)}"
    look = {"moves": "의 자리를 보세요. 언제 실행되어야 할까요?", "guards": "을 늘 실행해도 될까요?"}
    return f"{_lines(edit)}{look.get(edit.effect, '을 보세요.')}\n{_code(*edit.old)}"


def _edit_in_words(edit: OwnEdit, named: NamedMistake) -> str:
    """Return what to do with which line, and the lines as they are afterwards; beside the line that the card names."""
    lines, short = _lines(edit), len(edit.new) == 1 and len(edit.new[0].strip()) <= _MOST_INLINE
    match edit.effect:
        case "moves":
            told, shown = f"{lines}을 {edit.behind}번째 줄 뒤로 옮겨요.", (edit.line_behind, *edit.new)
        case "deletes":
            told, shown = f"{lines}을 지워요.", edit.old
        case "inserts":
            what = with_particle(f"`{edit.new[0].strip()}`", "을/를") if short else "이것을"
            told, shown = f"{edit.behind}번째 줄 뒤에 {what} 넣어요.", (edit.line_behind, *edit.new)
            if named.before and edit.line_below and (named.line, named.cell) == (edit.first, edit.cell):
                told, shown = f"{edit.first}번째 줄 앞에 {what} 넣어요.", (*edit.new, edit.line_below)
        case "guards":
            what = with_particle(f"`{edit.new[0].strip()}`", "을/를") if short else "이 줄을"
            told = f"{edit.first}번째 줄 위에 {what} 넣고, {lines}을 그 아래로 들여 써요."
            shown = (*edit.new, *(f"    {line}" for line in edit.old))
        case "unwraps":
            told, shown = f"{edit.first}번째 줄을 지우고, 그 아래에 있던 줄을 내어 써요.", edit.new
        case _:
            told, shown = f"{lines}을 이렇게 바꿔요.", edit.new
    return f"{told}\n{_code(*shown)}"


def _lines(edit: OwnEdit) -> str:
    """Return the lines that an edit changes, as in `5번째 줄` or `5~6번째 줄`."""
    return f"{edit.first}번째 줄" if edit.last == edit.first else f"{edit.first}~{edit.last}번째 줄"


def _line_of_the_solution(named: NamedMistake, source: str) -> str:
    """Return the solution's only line at the mistake's place; empty unless it is whole and has the learner's names."""
    if len(named.right_lines) != 1:
        return ""
    (line,) = named.right_lines
    try:
        ast.parse(line)
    except SyntaxError:  # a header without its body
        return ""
    if not set(re.findall(r"[A-Za-z_]\w*", line)) <= set(re.findall(r"[A-Za-z_]\w*", source)):
        return ""
    return f"정답에는 이 줄이 있어요.\n{_code(line)}"


def _code(*lines: str) -> str:
    body = dedent("\n".join(lines)).replace("```", "` ` `")
    return f"```python\n{body}\n```"
