"""A metric is the mean of batch means although the last batch is smaller."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BatchLoaded, Facts, LoaderBegan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading
from grader.scripts.rules._evaluations import batches

_UNEQUAL = 0.9
_MEANS = ("mean", "average", "fmean")


def _is_mean(value: ast.expr) -> bool:
    """Return True if a value is one number of a batch that is not weighted by the batch's size.

    A tuple may hold the size for later.
    """
    if isinstance(value, ast.Tuple | ast.List | ast.Dict):
        return False
    if any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult) for one in ast.walk(value)):
        return False
    numbers = _reading.calls(value, "item") or _is_whole_mean(value) or _is_number(value)
    counted = _reading.calls(value, "sum") and not _reading.calls(value, "mean") and _reading.compares(value)
    return bool(numbers) and not counted


def _is_number(value: ast.expr) -> bool:
    """Return True if a value is made by `float(x)`; `x.float()` may have many entries."""
    return any(isinstance(one.func, ast.Name) for one in _reading.calls(value, "float"))


def _is_whole_mean(value: ast.expr) -> bool:
    """Return True if a value is `x.mean()` or `torch.mean(x)`, over all dimensions; also if it is then moved."""
    while isinstance(value, ast.Call) and _reading.called(value) in ("detach", "cpu", "numpy"):
        assert isinstance(value.func, ast.Attribute | ast.Name)
        if isinstance(value.func, ast.Name):
            return False
        value = value.func.value
    if not isinstance(value, ast.Call) or _reading.called(value) != "mean" or value.keywords:
        return False
    assert isinstance(value.func, ast.Attribute | ast.Name)
    module = isinstance(value.func, ast.Attribute) and ast.unparse(value.func.value) in (
        "torch",
        "np",
        "numpy",
    )
    return len(value.args) == int(module)


def _gathered(loop: ast.For) -> Iterator[tuple[str, bool]]:
    """Iterate over names that gather batch means in a loop; True if they are lists."""
    for one in ast.walk(loop):
        if (
            isinstance(one, ast.AugAssign)
            and isinstance(one.op, ast.Add)
            and isinstance(one.target, ast.Name)
        ):
            mean = _is_mean(one.value) and "loss" in _reading.words(one.value) | _reading.words(one.target)
            if mean or _reading.calls(one.value, "mean"):
                yield one.target.id, False
        elif isinstance(one, ast.Call) and _reading.called(one) == "append" and one.args:
            holder = one.func.value if isinstance(one.func, ast.Attribute) else None
            if isinstance(holder, ast.Subscript):  # a list for each of several metrics
                holder = holder.value
            if isinstance(holder, ast.Name) and _is_mean(one.args[0]):
                yield holder.id, True


def _weighed_alike(file: str, loop: ast.For) -> Iterator[tuple[ast.expr, str]]:
    """Iterate over batch means that a loop gathers beside a 1 in place of the batch's size, and what gathers them."""
    meters = set(_methods_counting_one(file))
    for one in ast.walk(loop):
        value = one.value if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add) else None
        holder: ast.expr | None = one.target if isinstance(one, ast.AugAssign) else None
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.args:
            holder = one.func.value
            value = one.args[0] if one.func.attr == "append" else None
            alone = len(one.args) == 1 and not one.keywords
            if one.func.attr in meters and alone and isinstance(holder, ast.Name | ast.Attribute):
                if _is_mean(one.args[0]):
                    yield one, ast.unparse(holder)
                continue
        if value is None or not isinstance(holder, ast.Name):
            continue
        for pair in _reading.nodes_of(value, ast.Tuple, ast.List):
            parts = pair.elts  # type: ignore[attr-defined]
            if len(parts) == 2 and any(map(_is_one, parts)) and any(map(_is_mean, parts)):
                yield value, holder.id


def _is_one(value: ast.expr) -> bool:
    """Return True for `1`, `1.0`, `torch.ones(())` or `torch.tensor(1.0)`."""
    if isinstance(value, ast.Call):
        if _reading.called(value) == "ones":
            return [ast.unparse(one) for one in value.args] in (["()"], ["1"], ["[]"])
        return (
            _reading.called(value) in ("tensor", "float") and len(value.args) == 1 and _is_one(value.args[0])
        )
    return isinstance(value, ast.Constant) and value.value == 1 and not isinstance(value.value, bool)


def _methods_counting_one(file: str) -> Iterator[str]:
    """Iterate over methods of a value and its count, which is 1 if none is given: `update(self, value, n=1)`."""
    for one in _reading.nodes(file, ast.ClassDef):
        for method in one.body:  # type: ignore[attr-defined]
            if (
                isinstance(method, ast.FunctionDef)
                and len(method.args.args) == 3
                and len(method.args.defaults) == 1
            ):
                count, default = method.args.args[2].arg, method.args.defaults[0]
                added = [each for each in ast.walk(method) if isinstance(each, ast.AugAssign)]
                weighed = any(_reading.reads(each.value, count) for each in added)
                if weighed and _is_one(default) and method.name in ("update", "add"):
                    yield method.name


def _counters(loop: ast.For) -> set[str]:
    """Return the names that a loop raises by one in each round."""
    return {
        one.target.id
        for one in loop.body
        if isinstance(one, ast.AugAssign)
        and isinstance(one.target, ast.Name)
        and isinstance(one.value, ast.Constant)
        and one.value.value == 1
    }


def _divided(file: str, loop: ast.For, name: str, listed: bool) -> ast.expr | None:
    """Return the expression after a loop that divides by the number of batches."""
    end = loop.end_lineno or loop.lineno
    names = {name, *_parts(file, end, name)} if listed else {name}
    for one in _reading.nodes(file, ast.BinOp, ast.Call):
        if not end < one.lineno <= end + 12:  # type: ignore[attr-defined]
            continue
        if not any(_reading.reads(one, each) for each in names):
            continue
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div):
            below = one.right
            if _reading.called(below) == "len" and isinstance(below, ast.Call):
                given = ast.unparse(below.args[0])
                over = {
                    ast.unparse(x) for x in ast.walk(loop.iter) if isinstance(x, ast.Name | ast.Attribute)
                }
                if given in names if listed else given in over:
                    return one
            if not listed and isinstance(below, ast.Name) and below.id in _counters(loop):
                return one
        elif listed and isinstance(one, ast.Call) and _is_plain_mean(one):
            return one
    return None


def _parts(file: str, end: int, name: str) -> set[str]:
    """Return the names that a loop right after a line gives to the lists which a dictionary holds."""
    found: set[str] = set()
    for one in _reading.nodes(file, ast.comprehension, ast.For):
        assert isinstance(one, ast.comprehension | ast.For)
        over = one.iter
        if (
            end < one.target.lineno <= end + 12
            and _reading.called(over) in ("items", "values")
            and _reading.reads(over, name)
        ):
            last = one.target.elts[-1] if isinstance(one.target, ast.Tuple) else one.target
            found |= {last.id} if isinstance(last, ast.Name) else set()
    return found


def _is_plain_mean(call: ast.Call) -> bool:
    return _reading.called(call) in _MEANS and not any(word.arg == "weights" for word in call.keywords)


def _find(facts: Facts) -> Iterator[Finding]:
    evaluated = batches(facts).evaluated
    summed = any(one.reduction == "sum" and not one.grad for one in facts.of(LossComputed))
    told: set[int] = set()
    for loader in facts.loaders:
        first = _first(evaluated, loader.number)
        sizes = [one.size for one in evaluated if (one.loader, one.pass_) == (loader.number, first)]
        if summed or len(sizes) < 2 or sizes[-1] >= _UNEQUAL * sizes[0]:
            continue
        began = [one for one in facts.of(LoaderBegan) if one.loader == loader.number and one.place]
        for loop in _reading.around(began[-1].place, ast.For) if began and began[-1].place else []:
            assert isinstance(loop, ast.For)
            assert began[-1].place is not None
            if loop.lineno != began[-1].place.line:
                continue
            file = began[-1].place.file
            found = [(name, _divided(file, loop, name, listed)) for name, listed in _gathered(loop)]
            for name, divided in [*found, *((name, made) for made, name in _weighed_alike(file, loop))]:
                if divided is None or divided.lineno in told:
                    continue
                told.add(divided.lineno)
                shown = (
                    ", ".join(map(str, sizes[:2])) + (", …, " if len(sizes) > 3 else ", ") + str(sizes[-1])
                )
                shown = shown if len(sizes) > 2 else f"{sizes[0]}, {sizes[1]}"
                yield Finding(
                    place=_reading.at(began[-1].place.file, divided),
                    sentence=Said(
                        "배치 평균을 배치 수로 다시 평균 내요. 작은 마지막 배치의 샘플이 다른 "
                        "샘플보다 점수에 크게 반영돼요.",
                        "Batch means are averaged over the batches, so each sample of the small last batch weighs "
                        "more than the others.",
                    ),
                    evidence=Said(
                        f"평가 배치의 샘플이 {shown}개였어요. 읽어 보니 `{name}` 값을 크기와 상관없이 평균 내요.",
                        f"The evaluation's batches had {shown} samples. From reading: `{name}` is averaged "
                        "regardless of their sizes.",
                    ),
                    mend=Said(
                        "샘플 수를 곱해 더하고, 끝에서 전체 샘플 수로 나누세요.",
                        "Add up mean times batch size, and divide by the number of samples.",
                    ),
                )


def _first(evaluated: list[BatchLoaded], loader: int) -> int:
    return next((one.pass_ for one in evaluated if one.loader == loader), -1)


RULE = Rule(
    id="mean-of-batch-means",
    severity="warning",
    title=Said("배치 평균의 평균을 냈어요", "A mean of batch means"),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
)
