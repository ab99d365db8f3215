"""Describe an edit before it is tried: its kind, which lines change, what they become, and how likely it is.

`line_edits` (with `line_insertions`) and `expression_edits` make drafts; `small_edits` sorts them and makes edited
programs of them. A new kind of edit gets a name in `Kind`, and a line in `KINDS`; "A kind of edit" in
`grader/ADDING.md` says what else it needs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal[
    "missing",
    "missing-lines",
    "case",
    "superfluous",
    "order",
    "place",
    "condition",
    "no-condition",
    "jump",
    "guard",
    "name",
    "compare",
    "off-by-one",
    "divisor",
    "undivided",
    "operator",
    "value",
    "argument",
    "argument-order",
    "not-called",
    "sign",
    "tensor-or-number",
    "copied",
    "method",
    "wrapped",
    "returned",
    "assigned",
    "expression",
]
"""Kind of an edit, as the learner is told it; `KINDS` holds the sentences."""

EffectOfKind = Literal["inserts", "deletes", "moves", "guards", "rewrites"]
"""What the edits of a kind do with lines. (`course/feedback.py Effect` is what a hint tells of a single edit.)

`guards`: puts a line such as `if …:` above others, which are indented under it. `rewrites`: changes lines where they
stand, or takes away the `if …:` or `while …:` above them (`no-condition`). `deletes`: takes lines away, or only the
`with …:`, `for …:` or `try:` above others.
"""

Side = Literal["", "before", "after", "end"]
"""On which side of its line something inserted or moved belongs.

`end`: after the block that the line opens. Empty: nothing is inserted or moved.
"""


@dataclass(frozen=True)
class KindOfEdit:
    """What all edits of one kind have in common."""

    effect: EffectOfKind
    phrase: str
    """Korean sentence that names the kind; the learner reads it before any of the edit's code is shown."""

    @property
    def inserts_line(self) -> bool:
        """True if edits of this kind add a line or lines, which may be tried at many places."""
        return self.effect in ("inserts", "guards")

    @property
    def may_add_events(self) -> bool:
        """True if an edit of this kind may make code run more often: what it inserts, moves, or guards by a loop.

        `small_edits` tells the guards apart by their lines.
        """
        return self.effect in ("inserts", "moves", "guards")

    @property
    def may_remove_events(self) -> bool:
        """True if an edit of this kind may make code run less often: what it deletes, moves or guards."""
        return self.effect in ("deletes", "moves", "guards")


KINDS: Mapping[Kind, KindOfEdit] = {
    # Phrases for added lines only suggest. A line that makes the program right need not be what is missing: another
    # line may stand wrong in its place, or an added `return` may keep wrong lines behind it from running.
    "missing": KindOfEdit("inserts", "한 줄을 더해 보세요"),
    "missing-lines": KindOfEdit("inserts", "여러 줄을 더해 보세요"),
    "case": KindOfEdit("inserts", "이 줄부터 맞게 다루지 못하는 경우가 있어요. 그 경우를 따로 돌려줘도 돼요"),
    "superfluous": KindOfEdit("deletes", "이 줄은 없어야 해요"),
    "order": KindOfEdit("moves", "줄의 순서를 바꿔야 해요"),
    "place": KindOfEdit("moves", "이 줄은 다른 곳에 있어야 해요"),
    "condition": KindOfEdit("rewrites", "조건이 달라요"),
    "no-condition": KindOfEdit("rewrites", "이 조건은 없어야 해요"),
    "jump": KindOfEdit("rewrites", "반복을 여기서 끝내야 하는지, 다음 것으로 넘어가야 하는지 다시 보세요"),
    "guard": KindOfEdit("guards", "이 줄을 감싸는 한 줄을 더해 보세요"),
    "name": KindOfEdit("rewrites", "다른 변수를 써야 해요"),
    "compare": KindOfEdit("rewrites", "비교하는 기호가 달라요"),
    "off-by-one": KindOfEdit("rewrites", "하나 차이가 나요"),
    "divisor": KindOfEdit("rewrites", "나누는 수가 달라요"),
    "undivided": KindOfEdit("rewrites", "나누지 않은 값이에요"),
    "operator": KindOfEdit("rewrites", "계산하는 기호가 달라요"),
    "value": KindOfEdit("rewrites", "값이 달라요"),
    "argument": KindOfEdit("rewrites", "넘기는 인자가 달라요"),
    "argument-order": KindOfEdit("rewrites", "인자의 순서가 달라요"),
    "not-called": KindOfEdit("rewrites", "괄호가 없어서 함수를 부르지 않아요"),
    "sign": KindOfEdit("rewrites", "부호가 반대예요"),
    "copied": KindOfEdit("rewrites", "복사한 값을 써야 해요"),
    "tensor-or-number": KindOfEdit("rewrites", "텐서와 숫자를 바꿔 써야 해요"),
    "method": KindOfEdit("rewrites", "다른 함수를 불러야 해요"),
    "wrapped": KindOfEdit("rewrites", "값을 감싼 함수 호출이 없어야 해요"),
    "returned": KindOfEdit("rewrites", "돌려주는 값이 달라요"),
    "assigned": KindOfEdit("rewrites", "이 변수에 담는 값이 달라요"),
    "expression": KindOfEdit("rewrites", "이 줄의 식이 달라요"),
}
"""The effect and the phrase of each kind."""


class ShownLines(NamedTuple):
    """The lines that the learner is shown of an edit."""

    old: Sequence[str]
    """Shown as removed."""
    new: Sequence[str]
    """Shown as added."""


@dataclass(frozen=True)
class Draft:
    """An edit before it is tried: the program's lines `[start:end]`, as a slice counts them, become `new_lines`."""

    cost: float
    """A number that is the larger the less likely the edit is; drafts of lower cost are tried first.

    Typical values: 1 for an expression of the solution in the learner's statement for the same step, 2 for a line that
    the solution has and the learner lacks, 3 for a slip that could be anywhere, 5 for a guess. For each thing that the
    runs tell, `small_edits` adds or subtracts about one at most. All costs were set by hand; only the order that
    results from them matters, and `tests/judging/repair/test_small_edits.py` says what must be tried early.
    """
    kind: Kind
    start: int
    """Index, from 0, of the first line that changes."""
    end: int
    """Index, from 0, of the line after the last that changes; equal to `start` if nothing is replaced."""
    new_lines: Sequence[str]
    """The lines that replace those from `start` to `end`."""
    line: int
    """Line, from 1, that feedback points at."""
    side: Side = ""
    """For something inserted or moved: on which side of `line` it belongs. Otherwise empty."""
    shown_lines: ShownLines | None = None
    """None: all lines that change are shown as removed, and all of `new_lines` as added."""
    changed_code: str = ""
    """The code that is inserted (of a guard: its line), deleted, moved, or put in the place of a whole statement.

    Empty for other edits. `small_edits` reads in it (for a guard, also in the lines under it) which events the edit may
    add or remove, and compares them with those that the learner's run has too few or too many of. It also looks there,
    as on the line itself, for words of what differs first in the run; and drafts that insert the same code count as
    alike.
    """

    def applied_to(self, lines: Sequence[str]) -> list[str]:
        """Return all lines of the program with the edit made."""
        return [*lines[: self.start], *self.new_lines, *lines[self.end :]]
