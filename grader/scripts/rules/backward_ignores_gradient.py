"""An own autograd function whose `backward` never reads the gradient that comes from above."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts, OwnFunctionRan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading

_NOTHING = ("zeros_like", "zeros", "new_zeros")


def _returned(function: ast.FunctionDef) -> ast.Return | None:
    """Return the statement with the gradients of a `backward` that reads none of those it is given."""
    given = [one.arg for one in [*function.args.args[1:], function.args.vararg] if one is not None]
    if not given or any(_reading.reads(function, name) for name in given):
        return None
    found = [one for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
    return next((one for one in reversed(found) if _is_something(one.value)), None)


def _is_something(value: ast.expr | None) -> bool:
    """Return True unless a value is made of None and zeros: an operation may stop gradients on purpose."""
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return any(
        one is not None and not isinstance(one, ast.Constant) and _reading.called(one) not in _NOTHING
        for one in parts
    )


def _find(facts: Facts) -> Iterator[Finding]:
    ran = list(facts.of(OwnFunctionRan))
    for place in dict.fromkeys(one.backward for one in ran):
        these = [one for one in ran if one.backward == place]
        other = [one for one in these if not one.ones]
        for function in _reading.nodes(place.file, ast.FunctionDef):
            assert isinstance(function, ast.FunctionDef)
            first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
            line = _returned(function) if first == place.line else None
            if line is None or not other:
                continue
            yield Finding(
                place=_reading.at(place.file, line),
                sentence=Said(
                    f"`{these[0].kind}`의 `backward()`가 받은 그레이디언트를 쓰지 않아요. 손실이 무엇이든 앞쪽 "
                    "계층에는 같은 그레이디언트가 가요. 일부러 그랬나요?",
                    f"The backward() of `{these[0].kind}` does not use the gradient that it is given, so the layers "
                    "below get the same whatever the loss. On purpose?",
                ),
                evidence=Said(
                    f"살펴본 {len(these)}번 가운데 {len(other)}번에 1이 아닌 그레이디언트를 받았어요. 읽어 보니 이 "
                    f"함수는 `{function.args.args[-1].arg}` 값을 읽지 않아요.",
                    f"In {len(other)} of {len(these)} runs looked at it was given gradients other than 1. From "
                    f"reading: it never reads `{function.args.args[-1].arg}`.",
                ),
                mend=Said(
                    f"받은 그레이디언트를 곱해(연쇄 법칙) 돌려주세요: `return {function.args.args[-1].arg} * …`",
                    f"Multiply by the gradient that is given: `return {function.args.args[-1].arg} * …`",
                ),
            )


RULE = Rule(
    id="backward-ignores-gradient",
    severity="warning",
    title=Said(
        "`backward()`가 받은 그레이디언트를 쓰지 않았어요", "A backward that ignores the gradient from above"
    ),
    lesson=None,
    find=_find,
)
