"""Find rates that a loop computes and shows, but that reach no optimizer: the rate in use never changes."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts
from grader.scripts.findings import Finding, Said
from grader.scripts.rules import _reading

_FEWEST = 6
_RATE = {"lr", "rate"}
_NO_RATE = {"dropout", "drop", "hit", "miss", "error", "sample", "mask", "success"}
"""Words of rates of other things."""
_READ_BACK = {"param", "groups", "last", "scheduler", "defaults", "optimizer"}
"""Words of a rate that was read from an optimizer or a scheduler."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SHOWING = (
    *("print", "log", "info", "debug", "write", "add_scalar", "append", "set_postfix", "set_description"),
    *("log_dict", "log_metrics", "set_postfix_str", "format"),
)


def shown_rates(facts: Facts) -> Iterator[Finding]:
    """Find them where no scheduler moves a rate, nothing writes into a group, and every step had the same rate."""
    steps = facts.steps()
    rates = {one.rates for one in steps}
    moved = any(len(set(one.course)) > 1 for one in facts.optimizers)
    if facts.schedulers or len(steps) < _FEWEST or len(rates) != 1 or moved or not steps[0].rates:
        return
    for file in _reading.files(facts):
        if any("param_groups" in ast.unparse(one) for one in _reading.nodes(file, ast.For, ast.Subscript)):
            continue  # something is done with the groups
        for loop in _reading.nodes(file, *_reading.LOOPS):
            if any(_reading.runs_in(loop, one, file) for one in facts.of(BackwardRan)):
                for statement, name in _only_shown(file, loop):
                    yield _told(file, statement, name, rates.copy().pop()[0], len(steps))


def _only_shown(file: str, loop: ast.AST) -> Iterator[tuple[ast.Assign, str]]:
    """Iterate over the rates that a loop computes from a number that it counts, and that are read by what shows them.

    Nothing at all may read them either.
    """
    counted = {
        one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    for made in _reading.nodes_of(loop, ast.Assign):
        assert isinstance(made, ast.Assign)
        target = made.targets[0]
        if len(made.targets) != 1 or not isinstance(target, ast.Name) or not _is_rate(target.id):
            continue
        used = {one.id for one in ast.walk(made.value) if isinstance(one, ast.Name)} - {target.id}
        if not used & counted or _reading.words(made.value) & _READ_BACK:
            continue
        if _only_for_show(_scope(file, made), target.id):
            yield made, target.id


def _is_rate(name: str) -> bool:
    return bool(_reading.words(name) & _RATE) and not _reading.words(name) & _NO_RATE


def _scope(file: str, statement: ast.AST) -> ast.AST:
    """Return the function around a statement, or the whole file."""
    place = _reading.at(file, statement)
    around = _reading.around(place, *_FUNCTIONS) or list(_reading.nodes(file, ast.Module))
    return around[0]


def _only_for_show(scope: ast.AST, name: str) -> bool:
    """Return True if a name is read at most within calls that show or gather something."""
    foreign = {
        id(below)
        for one in _reading.nodes_of(scope, *_FUNCTIONS)
        if one is not scope and _binds(one, name)
        for below in ast.walk(one)
    }
    shown = {id(below) for call in _reading.calls(scope, *_SHOWING) for below in ast.walk(call)}
    return not any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
        for one in ast.walk(scope)
        if id(one) not in shown | foreign
    )


def _binds(function: ast.AST, name: str) -> bool:
    """Return True if a function has a name of its own."""
    return any(
        (isinstance(one, ast.arg) and one.arg == name)
        or (isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store))
        for one in ast.walk(function)
    )


def _told(file: str, statement: ast.Assign, name: str, rate: float, count: int) -> Finding:
    return Finding(
        place=_reading.at(file, statement),
        severity="bug",
        sentence=Said(
            f"여기에서 계산한 학습률 `{name}` 값이 옵티마이저에 닿지 않아요. 학습률은 처음 값 그대로예요.",
            f"The rate `{name}` that is computed here never reaches the optimizer, which keeps its first rate.",
        ),
        evidence=Said(
            f"`step()` {count}번의 학습률이 모두 {rate:.3g}이었어요. 읽어 보니 `{name}` 값은 출력하거나 적어 두기만 "
            "하고, `param_groups`에 쓰는 곳이 없어요.",
            f"All {count} steps used the rate {rate:.3g}. From reading: `{name}` is shown at most, and nothing writes "
            "into `param_groups`.",
        ),
        mend=Said(
            f'`step()` 앞에서 쓰세요: `for group in optimizer.param_groups: group["lr"] = {name}`.',
            f'Write it before step(): `for group in optimizer.param_groups: group["lr"] = {name}`.',
        ),
    )
