"""Word the hints about the mistakes that a check names: what to think of, where to look, and what to write.

The answer is the step after these. Each hint has to tell more than the card that it stands under, and more than the
hints before it: a step for which nothing is known, or whose content is on the card, is empty and left out.

- What to think of, a reason or an experiment, is written for each mistake, and no sentence of it is on the card.
- Where to look is left out if the card shows that line. If what to write is known, it stands in the first hint.
- What to write is the edit of the learner's own code (`judging.own_edit`), in words and as a diff. Without one, what
  the course says of the mistake (`Mistake.mend`) stands in for it. It is left out if the card names both the place and
  all of the code: `opt.zero_grad()` before line 4; and if an earlier hint has said the same.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from textwrap import dedent

from grader.course.feedback import MOST_MISTAKES, Feedback, NamedMistake, OwnEdit, Repair
from grader.observe.wording import one_of, with_particle

STEP_NAMES = ("생각할 것", "볼 곳", "고칠 줄")
"""Korean names of the steps."""
_MOST_CHARACTERS = 2_000
"""Maximum length of a step: it is kept with the learner's progress."""
_APART = " ..."
"""Stands in a diff between lines that are apart."""
_MOST_INLINE = 40
"""Maximum length of code inside a sentence; longer code stands below it."""

_ON_PRINTS = "함수 안에서 찍은 것은 확인한 결과 아래에 나와요. 다 보았으면 찍는 줄을 지우세요."
"""What a hint that asks for a print goes on with: only a check calls the function; `printed.py` shows its output."""

_OUTSIDE = re.compile(r"부르기 전|부른 (?:다음|뒤)|돌려준|돌려받은")
"""Matches a hint that asks for a print outside the function: around a call, or of what it returned."""
_GRADIENT = re.compile(r"\.grad`")
_ON_GRADIENTS = "한 층의 `.grad`는 수십 줄이니, None이 아니면 `.grad.norm()`만 찍어도 돼요."
"""For a hint that asks for a print of gradients, of which a card shows the first lines."""

_Steps = tuple[str, str, str]
"""The steps about one mistake, see `STEP_NAMES`."""


def hints_by_mistake(feedback: Feedback, repair: Repair) -> tuple[tuple[str, _Steps], ...]:
    """Return (id, steps) of the first mistakes that the feedback names, as Markdown; a step may be empty.

    Args:
        feedback: the feedback.
        repair: when the card tells the mistakes' names; held back, the last step tells it.
    """
    told: list[tuple[str, _Steps]] = []
    shown: set[str] = set()
    for named in feedback.diagnosis.mistakes[:MOST_MISTAKES]:
        what = _what_to_write(named)
        is_new = what not in shown and not (repair == "at-once" and _names_the_insertion(named))
        told.append((named.id, _steps(named, repair, what if is_new else "")))
        shown.add(what)
    return tuple(told)


def _steps(named: NamedMistake, repair: Repair, what: str) -> _Steps:
    """Return the steps about a mistake; `what`: what to write, empty if that is not told."""
    is_told = repair == "at-once"
    name = "" if is_told else f"{one_of(named.titles)}. {named.explain}"
    last = "\n".join(filter(None, (name, what)))
    place = "" if is_told and _is_on_the_card(named) else _place(named)
    first = _with_print_reminder(named.hint)
    steps = ("\n".join(filter(None, (first, place))), "", last) if is_told and last else (first, place, last)
    return steps[0][:_MOST_CHARACTERS], steps[1][:_MOST_CHARACTERS], steps[2][:_MOST_CHARACTERS]


def without_clues(feedback: Feedback) -> Feedback:
    """Return the feedback without the hints of its mistakes, for a card below which they are asked for one by one."""
    mistakes = tuple(replace(named, hint="") for named in feedback.diagnosis.mistakes)
    return replace(feedback, diagnosis=replace(feedback.diagnosis, mistakes=mistakes))


def _with_print_reminder(hint: str) -> str:
    """Return the hint; one that asks for a print inside the function also tells where to read it."""
    if "찍어" not in hint or _OUTSIDE.search(hint):
        return hint
    return " ".join(filter(None, (hint, _ON_GRADIENTS if _GRADIENT.search(hint) else "", _ON_PRINTS)))


def _is_on_the_card(named: NamedMistake) -> bool:
    """Return True if the card shows the line that the place would show."""
    edit = named.own_edit
    if edit is None or edit.effect == "inserts":
        return named.line is not None
    if edit.effect == "guards":
        return named.before and (named.line, named.cell) == (edit.first, edit.cell)
    is_there = edit.first == edit.last == named.line and edit.cell == named.cell
    return is_there and edit.effect in ("rewrites", "deletes")


def _names_the_insertion(named: NamedMistake) -> bool:
    """Return True if the edit only inserts code that the card quotes, at the place that the card names."""
    edit = named.own_edit
    if edit is None or edit.effect != "inserts" or not (named.before or named.after):
        return False
    told = "".join(re.findall("`([^`]*)`", f"{one_of(named.titles)} {named.explain}"))
    return all(line.strip() in told for line in edit.new)


def _place(named: NamedMistake) -> str:
    """Return where to look, and the learner's line there; empty if that is not known.

    Of an edit that inserts lines, the card's place leads: either the edit inserts them there (`own_edit`), or the card
    has named a line that is wrong as it is.
    """
    edit = named.own_edit
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


def _what_to_write(named: NamedMistake) -> str:
    """Return the edit of the learner's code in words, or else how to mend the mistake in any code; empty: unknown."""
    return named.mend if named.own_edit is None else _edit_in_words(named.own_edit, named)


def _edit_in_words(edit: OwnEdit, named: NamedMistake) -> str:
    """Return what to do with which line, and the edit as a diff; beside the line that the card names."""
    lines, short = _lines(edit), len(edit.new) == 1 and len(edit.new[0].strip()) <= _MOST_INLINE
    goes, comes = [f"-{line}" for line in edit.old], [f"+{line}" for line in edit.new]
    behind, below = f" {edit.line_behind}", f" {edit.line_below}"
    shown: Sequence[str]
    match edit.effect:
        case "moves":
            told, place = f"{lines}을 {edit.behind}번째 줄 뒤로 옮겨요.", [behind, *comes]
            if edit.line_below and edit.below is not None:
                told, place = f"{lines}을 {edit.below}번째 줄 앞으로 옮겨요.", [*comes, below]
            shown = [*place, _APART, *goes] if edit.behind < edit.first else [*goes, _APART, *place]
        case "deletes":
            told, shown = f"{lines}을 지워요.", goes
        case "inserts":
            what = with_particle(f"`{edit.new[0].strip()}`", "을/를") if short else "이것을"
            told, shown = f"{edit.behind}번째 줄 뒤에 {what} 넣어요.", (behind, *comes)
            if named.before and edit.line_below and (named.line, named.cell) == (edit.first, edit.cell):
                told, shown = f"{edit.first}번째 줄 앞에 {what} 넣어요.", (*comes, below)
        case "guards":
            what = with_particle(f"`{edit.new[0].strip()}`", "을/를") if short else "이 줄을"
            told = f"{edit.first}번째 줄 위에 {what} 넣고, {lines}을 그 아래로 들여 써요."
            shown = (*goes, *comes, *(f"+    {line}" for line in edit.old))
        case "unwraps":
            told, shown = f"{edit.first}번째 줄을 지우고, 그 아래에 있던 줄을 내어 써요.", (*goes, *comes)
        case _:
            told, shown = f"{lines}을 이렇게 바꿔요.", (*goes, *comes)
    return f"{told}\n{_diff(*shown)}"


def _lines(edit: OwnEdit) -> str:
    """Return the lines that an edit changes, as in `5번째 줄` or `5~6번째 줄`."""
    return f"{edit.first}번째 줄" if edit.last == edit.first else f"{edit.first}~{edit.last}번째 줄"


def _code(*lines: str) -> str:
    body = dedent("\n".join(lines)).replace("```", "` ` `")
    return f"```python\n{body}\n```"


def _diff(*lines: str) -> str:
    """Return lines that begin with `-`, `+` or a space as a diff, without their common indentation."""
    code = dedent("\n".join(line[1:] for line in lines if line != _APART)).split("\n")
    texts = iter(code)
    signs = [(line[:1], "..." if line == _APART else next(texts)) for line in lines]
    body = "\n".join(f"{sign} {text}" for sign, text in signs).replace("```", "` ` `")
    return f"```diff\n{body}\n```"
