"""Describe one edit before it is tried: which lines change, what they become, and how likely it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "missing",
    "superfluous",
    "order",
    "place",
    "condition",
    "no-condition",
    "guard",
    "name",
    "compare",
    "off-by-one",
    "divisor",
    "operator",
    "value",
    "argument",
    "argument-order",
    "not-called",
    "tensor-or-number",
    "method",
    "wrapped",
    "returned",
    "expression",
]
"""Kind of an edit; `PHRASES` has the Korean for each."""

Where = Literal["", "before", "after", "end"]
"""On which side of its line something inserted or moved belongs; `end`: after the block that the line opens."""

PHRASES: Mapping[Kind, str] = {
    "missing": "한 줄이 빠졌어요",
    "superfluous": "이 줄은 없어야 해요",
    "order": "줄의 순서를 바꿔야 해요",
    "place": "이 줄은 다른 곳에 있어야 해요",
    "condition": "조건이 달라요",
    "no-condition": "조건 없이 실행해야 해요",
    "guard": "이 줄을 감싸는 한 줄이 빠졌어요",
    "name": "다른 변수를 써야 해요",
    "compare": "비교하는 기호가 달라요",
    "off-by-one": "하나 차이가 나요",
    "divisor": "나누는 수가 달라요",
    "operator": "계산하는 기호가 달라요",
    "value": "값이 달라요",
    "argument": "넘기는 인자가 달라요",
    "argument-order": "인자의 순서가 달라요",
    "not-called": "괄호가 없어서 함수를 부르지 않아요",
    "tensor-or-number": "텐서와 숫자를 바꿔 써야 해요",
    "method": "다른 함수를 불러야 해요",
    "wrapped": "값을 감싼 함수 호출이 없어야 해요",
    "returned": "돌려주는 값이 달라요",
    "expression": "이 줄의 식이 달라요",
}
"""Korean sentence for each kind, told before anything of the edit itself is shown."""


@dataclass(frozen=True)
class Draft:
    """An edit of a text: lines first..last-1, counted from 0, become `new`."""

    cost: float
    """Unlikeliness of the edit: drafts of lower cost are tried first. Typical: 1 to 5."""
    kind: Kind
    first: int
    last: int
    new: Sequence[str]
    """The lines in their place."""
    line: int
    """Line, from 1, that feedback points at."""
    where: Where = ""
    """For something inserted or moved: on which side of `line` it belongs. Else empty."""
    shown_old: Sequence[str] | None = None
    """Lines shown as removed, if these are not all lines that change."""
    shown_new: Sequence[str] | None = None
    """Lines shown as added, if these are not all of `new`."""
    words: str = ""
    """Code that is added or removed, to compare with the events that are missing or too many."""

    def applied(self, lines: Sequence[str]) -> list[str]:
        """Return all lines of the text with the edit made."""
        return [*lines[: self.first], *self.new, *lines[self.last :]]
