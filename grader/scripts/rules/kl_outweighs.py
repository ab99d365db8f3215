"""A VAE's reconstruction is averaged over batch and pixels, its KL term summed: the KL outweighs it."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading

_FEWEST, _FEWEST_ENTRIES = 3, 8
_ERRORS = (
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
)
_SQUARES = ("pow", "square")
_COUNTS = ("size", "len", "shape")


def _is_divergence(value: ast.AST) -> bool:
    """Return True for `-0.5 * sum(1 + logvar - mu ** 2 - logvar.exp())` in any order, summed over everything."""
    squares = _reading.calls(value, *_SQUARES) or any(
        isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow) for one in ast.walk(value)
    )
    sums = _reading.calls(value, "sum")
    whole = len(sums) == 1 and not sums[0].keywords and len(sums[0].args) <= _is_function(sums[0])
    return bool(squares and _reading.calls(value, "exp") and whole and not _reading.calls(value, "mean"))


def _is_function(call: ast.Call) -> int:
    """Return 1 for `torch.sum(…)`, whose first argument is what is summed, and 0 for the method."""
    return int(isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "torch")


def _is_small(value: ast.AST) -> bool:
    """Return True if an expression is divided by something else than the number of samples, or scaled."""
    for one in ast.walk(value):
        if not isinstance(one, ast.BinOp) or not isinstance(one.op, ast.Div | ast.Mult):
            continue
        if isinstance(one.op, ast.Div):
            counted = isinstance(one.right, ast.Call | ast.Subscript) and any(
                word in ast.unparse(one.right) for word in _COUNTS
            )
            if not counted:
                return True
        elif not any(_is_half(side) for side in (one.left, one.right)):
            return True
    return False


def _is_half(value: ast.AST) -> bool:
    return ast.unparse(value).lstrip("-") in ("0.5", ".5")


def _added_plainly(scope: ast.AST, name: str) -> bool:
    """Return True if a name is a summand as it is, and nowhere scaled."""
    found = False
    for one in ast.walk(scope):
        sides = [one.left, one.right] if isinstance(one, ast.BinOp) else []
        sides = [one.target] if isinstance(one, ast.AugAssign) else sides
        if any(isinstance(side, ast.Name) and side.id == name for side in sides):
            if isinstance(one, ast.AugAssign) or not isinstance(one.op, ast.Add):  # type: ignore[attr-defined]
                return False
            found = True
    return found


def _find(facts: Facts) -> Iterator[Finding]:
    losses = [
        one
        for one in facts.of(LossComputed)
        if one.grad and one.name in _ERRORS and one.reduction == "mean" and len(one.shape) > 1
    ]
    for place in dict.fromkeys(one.place for one in losses if one.place is not None):
        these = [one for one in losses if one.place == place]
        shape = these[-1].shape
        entries = 1
        for size in shape[1:]:
            entries *= size
        functions = _reading.around(place, ast.FunctionDef)[:1]
        if len(these) < _FEWEST or entries < _FEWEST_ENTRIES or not functions:
            continue
        for made in _reading.nodes_of(functions[0], ast.Assign):
            assert isinstance(made, ast.Assign)
            names = _reading.bound(made)
            if len(names) != 1 or not _is_divergence(made.value) or _is_small(made.value):
                continue
            if _added_plainly(functions[0], names[0]):
                yield Finding(
                    place=place,
                    sentence=Said(
                        f"재구성 오차는 배치와 값 모두의 평균인데 `{names[0]}` 값은 잠재 변수의 합이에요. KL 항이 "
                        f"{entries}배 무거워서, 모델이 입력을 무시하게 되기 쉬워요. 일부러 그랬나요?",
                        f"The reconstruction is averaged over batch and entries while `{names[0]}` is summed: the KL "
                        f"term weighs {entries} times too much, and the model tends to ignore its input. On purpose?",
                    ),
                    evidence=Said(
                        f"손실 {len(these)}번의 입력이 {shape}였고 한 샘플의 값 {entries}개로도 나눴어요. 읽어 보니 "
                        f"{made.lineno}번째 줄의 KL은 합이고 그대로 더해요.",
                        f"In {len(these)} losses the input was {shape}, divided by the {entries} entries of a sample, "
                        f"too. From reading: the KL of line {made.lineno} is a sum and is added as it is.",
                    ),
                    mend=Said(
                        "재구성 오차도 샘플마다 더하세요: `reduction='sum'`으로 구해 배치 크기로 나눠요.",
                        "Sum the reconstruction over a sample, too: reduction='sum', divided by the batch size.",
                    ),
                )


RULE = Rule(
    id="kl-outweighs",
    severity="warning",
    title=Said("KL 항을 너무 무겁게 더했어요", "The KL term outweighs the rest"),
    lesson=None,
    find=_find,
)
