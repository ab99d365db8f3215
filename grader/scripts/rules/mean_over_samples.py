"""A sum of batch means is divided by the number of samples: the mean loss that is printed is far too small."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_FEWEST = 3
_MEAN = ("mean", "batchmean")


def _batch_means(facts: Facts, loop: ast.AST, file: str) -> tuple[int, int]:
    """Return how many losses in a loop are means over their batch, and a batch's size; (0, 0) if some are not."""
    count = size = 0
    for backward in facts.of(BackwardRan):
        if not _reading.runs_in(loop, backward, file) or backward.forward is None or backward.value is None:
            continue
        forward = facts.events[backward.forward]
        batch = forward.batch if isinstance(forward, ForwardRan) else 0
        losses = [one for serial in backward.losses if isinstance(one := facts.events[serial], LossComputed)]
        plain = (
            len(losses) == 1
            and losses[0].reduction in _MEAN
            and losses[0].value is not None
            and float(losses[0].value) == float(backward.value)
        )
        divided = bool(losses) and all(one.reduction == "sum" for one in losses) and backward.divisor == batch
        if batch < 2 or not (plain or divided):
            return 0, 0
        count, size = count + 1, batch
    return count, size


def _sums(loop: ast.AST) -> Iterator[tuple[str, str]]:
    """Iterate over the names that a loop adds a loss to as it is, with the loss's name."""
    for one in ast.walk(loop):
        if not (
            isinstance(one, ast.AugAssign)
            and isinstance(one.op, ast.Add)
            and isinstance(one.target, ast.Name)
        ):
            continue
        value = one.value
        while isinstance(value, ast.Call) and _reading.called(value) in ("item", "detach", "float", "cpu"):
            inner = value.func.value if isinstance(value.func, ast.Attribute) else value.args[0]
            value = inner
        if isinstance(value, ast.Attribute) and value.attr == "data":
            value = value.value
        if isinstance(value, ast.Name):
            yield one.target.id, value.id


def _is_differentiated(loop: ast.AST, loss: str) -> bool:
    """Return True if a loop calls `loss.backward()` of this name, and of no other."""
    roots = {
        ast.unparse(one.func.value)
        for one in _reading.calls(loop, "backward")
        if isinstance(one.func, ast.Attribute)
    }
    return roots == {loss}


def _divisions(file: str, loop: ast.AST, name: str) -> Iterator[ast.BinOp]:
    """Iterate over the divisions of a name by the size of a data set, in the twelve lines after a loop."""
    end = getattr(loop, "end_lineno", 0)
    for one in _reading.nodes(file, ast.BinOp):
        assert isinstance(one, ast.BinOp)
        below = one.right
        sized = _reading.called(below) == "len" and ast.unparse(below).endswith(".dataset)")
        near = end < one.lineno <= end + 12
        if near and isinstance(one.op, ast.Div) and sized and ast.unparse(one.left) == name:
            yield one


def _find(facts: Facts) -> Iterator[Finding]:
    lines = dict.fromkeys(one.place for one in facts.of(BackwardRan) if one.place is not None)
    for place in lines:
        for loop in _reading.around(place, ast.For)[:1]:
            yield from _in_loop(facts, place, loop)


def _in_loop(facts: Facts, place: Place, loop: ast.AST) -> Iterator[Finding]:
    count, size = _batch_means(facts, loop, place.file)
    if count < _FEWEST:
        return
    for name, loss in dict.fromkeys(_sums(loop)):
        for division in _divisions(place.file, loop, name) if _is_differentiated(loop, loss) else ():
            over = ast.unparse(division.right)[4:-1].removesuffix(".dataset")
            yield Finding(
                place=_reading.at(place.file, division),
                sentence=Said(
                    "배치마다 이미 평균인 손실을 더해 놓고 샘플 수로 나눠서, 출력하는 평균이 배치 크기만큼 작아요.",
                    "Losses that are means over their batches are added up and divided by the number of "
                    "samples, so the "
                    "mean that is shown is too small by the batch size.",
                ),
                evidence=Said(
                    f"이 반복문의 손실 {count}번은 배치 {size}개의 평균이었어요. 읽어 보니 `{name}`에 그대로 더한 다음 "
                    f"`{ast.unparse(division.right)}` 값으로 나눠요.",
                    f"{count} losses of this loop were means over batches of {size}. From reading: they are added to "
                    f"`{name}` as they are, which is divided by `{ast.unparse(division.right)}`.",
                ),
                mend=Said(
                    f"`len({over})`으로 나누거나, 더할 때 배치의 샘플 수를 곱하세요.",
                    f"Divide by `len({over})`, or multiply by the batch's size when adding.",
                ),
            )


RULE = Rule(
    id="mean-over-samples",
    severity="bug",
    title=Said("평균을 샘플 수로 다시 나눴어요", "Means are divided by the number of samples"),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
)
