"""`view` or `reshape` is to swap axes: it keeps the entries in their order and cuts them into other rows."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import AxesSwapped, Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_FEWEST = 2


def _calls(place: Place) -> list[ast.Call]:
    """Return the calls of `view` and `reshape` that enclose a line and stand on the fewest lines."""
    found = [
        node
        for node in _reading.around(place, ast.Call)
        if isinstance(node, ast.Call) and _reading.called(node) in ("view", "reshape")
    ]
    shortest = min(((node.end_lineno or 0) - node.lineno for node in found), default=0)
    return [node for node in found if (node.end_lineno or 0) - node.lineno == shortest]


def _sizes(call: ast.Call) -> list[ast.expr]:
    given = call.args
    if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List):
        return given[0].elts
    return given


def _is_computed(call: ast.Call) -> bool:
    """Return True if sizes are multiplied or left open in the middle: they may be equal to others by chance."""
    sizes = _sizes(call)
    open_ = [number for number, one in enumerate(sizes) if ast.unparse(one) == "-1"]
    return any(0 < number < len(sizes) - 1 for number in open_) or any(
        isinstance(part, ast.BinOp | ast.Starred) for one in sizes for part in ast.walk(one)
    )


def _find(facts: Facts) -> Iterator[Finding]:
    swapped = list(facts.of(AxesSwapped))
    for place in dict.fromkeys(one.place for one in swapped):
        these = [one for one in swapped if one.place == place]
        training = [one for one in these if one.in_training]
        if place is None or any(map(_is_computed, _calls(place))) or not _calls(place):
            continue
        last = (training or these)[-1]
        before, after = ", ".join(map(str, last.before)), ", ".join(map(str, last.after))
        heads = len(last.after) > len(last.before)
        yield Finding(
            place=place,
            severity="bug" if len(training) >= _FEWEST else "warning",
            sentence=Said(
                "축의 자리를 바꾸려면 `view`나 `reshape`가 아니라 `transpose`를 써야 해요. 이 줄은 값의 순서를 "
                "그대로 두고 다르게 잘라서, 축마다 서로 다른 자리의 값이 섞여요.",
                "view and reshape do not swap axes: they keep the order of the entries and cut it elsewhere, so what "
                "lies on one axis now is a scramble of both.",
            ),
            evidence=Said(
                f"({before}) 모양을 ({after})로 바꾼 것이 {len(training) or len(these)}번이에요.",
                f"({before}) was cut into ({after}), {len(training) or len(these)} times.",
            ),
            mend=Said(
                "머리를 먼저 나누고 축을 바꾸세요: `x.view(B, T, H, D).transpose(1, 2)`.",
                "Split the heads first, then swap: x.view(B, T, H, D).transpose(1, 2).",
            )
            if heads
            else Said(
                "`x.transpose(…)`나 `x.permute(…)`를 쓰세요.",
                "Use x.transpose(…) or x.permute(…).",
            ),
        )


RULE = Rule(
    id="view-instead-of-transpose",
    severity="bug",
    title=Said("축을 바꾸려고 view를 썼어요", "view is used to swap axes"),
    lesson=None,
    find=_find,
)
