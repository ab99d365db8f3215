"""Accumulated micro-batches whose losses are not divided by the window's length, or divided twice."""

import ast
from collections.abc import Iterator
from functools import partial

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._windows import SCALE_FREE, Window, one_line, total_weight, usual_length, windows
from grader.scripts.source import enclosing_tests, gradient_divisions

_FEWEST = 3


def _weights(facts: Facts, optimizer: int) -> tuple[int, list[tuple[Window, float]]]:
    """Return the usual length of an optimizer's windows, and the windows of that length with their total weight."""
    found = windows(facts, optimizer)
    length = usual_length(found)
    whole = [
        one for one in found if len(one.backwards) == length and one_line(one) and not _of_one_forward(one)
    ]
    if length < 2 or len(whole) < 0.5 * len(found):
        return length, []
    return length, [(one, weight) for one in whole if (weight := total_weight(facts, one)) is not None]


def _of_one_forward(window: Window) -> bool:
    """Return True if its backwards began from one forward: the losses of several tasks, no micro-batches."""
    return len({one.forward for one in window.backwards if one.forward is not None}) == 1


def _near(value: float, expected: float) -> bool:
    return abs(value - expected) < 0.05 * expected


def _counts_batches(window: Window) -> bool:
    """Return True if a test with a remainder guards the step and not the backward: the idiom of accumulation."""
    backward = window.backwards[-1].place
    around = {where for where, _ in enclosing_tests(backward)} if backward is not None else set()
    places = [place for place in (window.step.place, *window.step.callers) if place is not None]
    tests = [one for place in places for one in enclosing_tests(place)]
    lines = {(where.file, where.line) for where in around}
    return any("%" in test and (where.file, where.line) not in lines for where, test in tests)


def _find(twice: bool, facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        length, weights = _weights(facts, optimizer.number)
        if not weights:
            continue
        expected = 1 / length if twice else float(length)
        these = [window for window, weight in weights if _near(weight, expected)]
        if len(these) < _FEWEST or len(these) < 0.8 * len(weights):
            continue
        yield (
            _twice(length, these, len(weights))
            if twice
            else _never(optimizer.kind, length, these, len(weights))
        )


def _never(kind: str, length: int, these: list[Window], of: int) -> Finding:
    surely = kind not in SCALE_FREE and _counts_batches(these[-1])
    return Finding(
        place=these[-1].backwards[-1].place,
        severity="bug" if surely else "warning",
        sentence=Said(
            f"마이크로 배치 {length}개의 손실을 나누지 않고 더해서, 그레이디언트가 평균의 {length}배예요.",
            f"The losses of {length} micro-batches are added without division, so the gradient is {length} times "
            "the mean's.",
        ),
        evidence=Said(
            f"마이크로 배치를 {length}개씩 모은 업데이트 {of}번 가운데 {len(these)}번에서 손실들의 무게를 더하면 "
            f"1이 아니라 {length}이었어요 ({kind}).",
            f"In {len(these)} of {of} updates of {length} micro-batches the weights of their mean losses add up to "
            f"{length} instead of 1 ({kind}).",
        ),
        mend=Said(
            f"손실을 모으는 개수로 나눈 다음 `backward()` 하세요: `(loss / {length}).backward()`.",
            f"Divide before the backward: `(loss / {length}).backward()`.",
        ),
    )


def _twice(length: int, these: list[Window], of: int) -> Finding:
    place = these[-1].backwards[-1].place
    divided = [] if place is None else gradient_divisions(place.file)
    own = None if place is None or divided else _own_division(place)
    mend = Said("나눗셈 하나를 빼세요.", "Remove one of the two divisions.")
    if own is not None and place is not None:
        line, without, backward = own
        mend = Said(
            f"{line.line}번째 줄에서 나눈 것을 {place.line}번째 줄의 `{backward}`가 또 나눠요. "
            f"{line.line}번째 줄에서 나누지 마세요: `{without}`.",
            f"Line {line.line} divides, and `{backward}` of line {place.line} divides again. "
            f"Do not divide on line {line.line}: `{without}`.",
        )
    return Finding(
        place=divided[0] if len(divided) == 1 else place,
        sentence=Said(
            f"모으는 개수로 두 번 나눠서, 그레이디언트가 평균의 {length}분의 1이에요. 라이브러리가 이미 "
            "나누는지 보세요.",
            f"The loss is divided by the window's length twice, so the gradient is 1/{length} of the mean's; a "
            "library may divide already.",
        ),
        evidence=Said(
            f"마이크로 배치를 {length}개씩 모은 업데이트 {of}번 가운데 {len(these)}번에서 손실들의 무게를 더하면 "
            f"1이 아니라 {1 / length:.3g}이었어요.",
            f"In {len(these)} of {of} updates of {length} micro-batches the weights of their mean losses add up to "
            f"{1 / length:.3g} instead of 1.",
        ),
        mend=mend,
        also=None if own is None else own[0],
    )


def _own_division(place: Place) -> tuple[Place, str, str] | None:
    """Return the line that divides what a library's `backward(loss)` is given, without the division, and that call."""
    for expression in _reading.around(place, ast.Expr):
        for call in _reading.calls(expression, "backward"):
            loss = call.args[0] if call.args else None
            made = _reading.assigned_line(place, loss.id) if isinstance(loss, ast.Name) else None
            for one in [] if made is None else _reading.around(made, ast.Assign):
                value = one.value if isinstance(one, ast.Assign) else None
                if made is not None and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
                    target = ast.unparse(one).partition("=")[0]
                    return made, f"{target}= {ast.unparse(value.left)}", ast.unparse(call.func)
    return None


RULES = [
    Rule(
        id="accum-no-divide",
        severity="bug",
        title=Said("모은 손실을 나누지 않았어요", "Accumulated losses are not divided"),
        lesson="01_five_line_step/3_why_accumulation_works",
        find=partial(_find, False),
    ),
    Rule(
        id="double-division",
        severity="bug",
        title=Said("모은 손실을 두 번 나눴어요", "Accumulated losses are divided twice"),
        lesson="01_five_line_step/3_why_accumulation_works",
        find=partial(_find, True),
    ),
]
