"""Small edits of a learner's own definition, the likeliest first: what a search for a repair tries one by one."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from grader.repair.binding import unbound
from grader.repair.donors import Donors
from grader.repair.drafts import PHRASES, Draft, Kind
from grader.repair.expression_edits import expression_drafts
from grader.repair.line_edits import line_drafts
from grader.repair.program_text import Definition

_WHERE = {
    "": "",
    "before": "이 줄보다 앞에",
    "after": "이 줄보다 뒤에",
    "end": "이 줄 아래의 블록이 끝난 다음에",
}
_SIGNS = {
    "zero_grad": ("zero_grad", "grad = None"),
    "forward": ("model(", "loss_fn("),
    "backward": ("backward", "autograd.grad"),
    "gradient": ("backward", "autograd.grad"),
    "clip": ("clip_grad",),
    "first_step": ("first_step",),
    "step": (".step(", "second_step"),
    "scheduler": ("scheduler.step",),
}


@dataclass(frozen=True)
class Focus:
    """Where to look first, as the runs tell it."""

    lines: frozenset[int] = frozenset()
    """Lines (from 1) of the events that differ, of an exception."""
    missing: frozenset[str] = frozenset()
    """Kinds of events of which the learner's run has too few."""
    extra: frozenset[str] = frozenset()
    """Kinds of events of which it has too many."""
    only_returned: bool = False
    """Whether all that differs is what is returned."""


@dataclass(frozen=True)
class SmallEdit:
    """One edit of the learner's program."""

    line: int
    """The first line that it is about, from 1."""
    kind: Kind
    text: str
    """The whole program with the edit made."""
    old: tuple[str, ...] = field(default=())
    new: tuple[str, ...] = field(default=())
    where: str = ""
    """For what is inserted or moved, in words: on which side of the line it belongs."""

    @property
    def phrase(self) -> str:
        """What kind of edit it is, in Korean."""
        return PHRASES[self.kind]


def small_edits(
    source: str, exercise_name: str, solution_source: str, focus: Focus | None = None
) -> Iterator[SmallEdit]:
    """All edits of the definition of `exercise_name` in `source`: each result once, and only what is a program.

    Args:
        source: the learner's program, or file.
        exercise_name: the only definition that is edited.
        solution_source: the solution's definition of it, whose pieces may be borrowed.
        focus: what the runs say of where the mistake is.
    """
    try:
        definition = Definition(source, exercise_name)
        solution = Definition(solution_source, exercise_name)
    except LookupError:
        return
    donors = Donors.of(definition, solution)
    drafts = [*line_drafts(definition, donors), *expression_drafts(definition, donors)]
    looked_at = focus or Focus()
    drafts.sort(key=lambda d: _cost(d, definition, looked_at))
    span = (definition.first - 1, definition.last)
    seen = {ast.dump(definition.node)}
    already = unbound(definition.node)
    for draft in drafts:
        lines = draft.applied(definition.lines)
        node = _parsed(lines[span[0] : span[1] + len(lines) - len(definition.lines)])
        if node is None:
            continue
        dump = ast.dump(node)
        if dump not in seen and not unbound(node) - already:
            seen.add(dump)
            yield _edit(draft, definition.lines, lines)


def _cost(draft: Draft, definition: Definition, focus: Focus) -> float:
    cost = draft.cost
    if focus.lines:
        cost += 0.12 * min(8, *(abs(draft.line - line) for line in focus.lines))
    signs = {kind for kind, texts in _SIGNS.items() if any(text in draft.words for text in texts)}
    if draft.kind in ("missing", "order", "place", "guard") and signs & focus.missing:
        cost -= 1.2
    if draft.kind in ("superfluous", "order", "place", "guard") and signs & focus.extra:
        cost -= 1.2
    if (draft.kind == "superfluous" and signs & focus.missing) or (
        draft.kind == "missing" and signs & focus.extra
    ):
        cost += 1.0
    if focus.only_returned:
        told = definition.lines[draft.line - 1] + draft.words
        cost -= 1.0 if "return" in told else 0.5 * any(name in told for name in definition.returned)
    return cost


def _parsed(lines: Sequence[str]) -> ast.FunctionDef | ast.ClassDef | None:
    try:
        body = ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    one = body[0] if len(body) == 1 else None
    return one if isinstance(one, ast.FunctionDef | ast.ClassDef) else None


def _edit(draft: Draft, before: list[str], after: list[str]) -> SmallEdit:
    old, new = draft.shown_old, draft.shown_new
    if old is None or new is None:
        old, new = before[draft.first : draft.last], draft.new
    return SmallEdit(draft.line, draft.kind, "\n".join(after), tuple(old), tuple(new), _WHERE[draft.where])
