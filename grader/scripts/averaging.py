"""Read in the script's text where weights are averaged over updates (EMA), and where that stands in the loop."""

import ast
from collections.abc import Iterator

from grader.scripts.places import Place
from grader.scripts.source import tree

_STEPPING = ("step",)
_AVERAGES = ("ema", "average", "avg", "swa", "shadow", "teacher", "smooth", "polyak")
_HOOKS = ("register_step_pre_hook", "register_optimizer_step_pre_hook")
_NO_OPTIMIZER = ("sched", "lr", "env", "warmup", "pbar", "bar", "profiler", "prof")


def _is_average(node: ast.AST) -> bool:
    """Return True for `d * a + (1 - d) * b`, `a.mul_(d).add_(b, alpha=1 - d)`, `a.lerp_(b, w)` and their like."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = (node.left, node.right)
        return all(map(_is_product, parts)) and (any(map(_is_rest, parts)) or _sum_to_one(parts))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("lerp_", "lerp", "_foreach_lerp_", "_foreach_lerp"):
            return True
        inner = node.func.value
        multiplied = (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and inner.func.attr == "mul_"
        )
        return node.func.attr == "add_" and multiplied
    return False


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _is_rest(product: ast.expr) -> bool:
    """Return True if a factor is `1 - d`."""
    return any(
        isinstance(one, ast.BinOp)
        and isinstance(one.op, ast.Sub)
        and isinstance(one.left, ast.Constant)
        and one.left.value in (1, 1.0)
        for one in ast.walk(product)
    )


def _sum_to_one(products: tuple[ast.expr, ast.expr]) -> bool:
    """Return True for `0.98 * a + 0.02 * b`."""
    factors = [
        [one.value for one in (part.left, part.right) if isinstance(one, ast.Constant)]
        for part in products
        if isinstance(part, ast.BinOp)
    ]
    numbers = [own[0] for own in factors if len(own) == 1 and isinstance(own[0], int | float)]
    return len(numbers) == len(products) and abs(sum(numbers) - 1) < 1e-6


def averaging_assignments(file: str) -> list[Place]:
    """Return the lines that assign an average of what they assign to and something else: not in place."""
    whole = tree(file)
    found = []
    for node in ast.walk(whole) if whole is not None else ():
        if not isinstance(node, ast.Assign) or not any(map(_is_average, ast.walk(node.value))):
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Name) or _reads(node.value, target.id) or _goes_back(whole, node):
            found.append(Place(file, node.lineno))
    return found


def _goes_back(whole: ast.AST | None, average: ast.Assign) -> bool:
    """Return True if what an average is called is put back into an attribute that it was made of.

    As in `moved = d * self.mean + (1 - d) * new`, `self.mean = torch.where(seen, moved, self.mean)`.
    """
    name = average.targets[0]
    made_of = {ast.unparse(one) for one in ast.walk(average.value) if isinstance(one, ast.Attribute)}
    return isinstance(name, ast.Name) and any(
        isinstance(one, ast.Assign)
        and one.lineno > average.lineno
        and isinstance(one.targets[0], ast.Attribute)
        and ast.unparse(one.targets[0]) in made_of
        and _reads(one.value, name.id)
        for function in (ast.walk(whole) if whole is not None else ())
        if isinstance(function, ast.FunctionDef) and average in ast.walk(function)
        for one in ast.walk(function)
    )


def _reads(value: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(value))


def _averaging_calls(whole: ast.Module) -> set[str]:
    """Return what calls of the file's averaging functions look like: `update_ema`, `ema.update`."""
    found: set[str] = set()
    for node in ast.walk(whole):
        if (
            isinstance(node, ast.FunctionDef)
            and any(map(_is_average, ast.walk(node)))
            and not _has_step(node)
        ):
            found.add(node.name)
    methods = set()
    for one in ast.walk(whole):
        if not isinstance(one, ast.ClassDef):
            continue
        own = {f.name for f in one.body if isinstance(f, ast.FunctionDef)} & found
        found -= own
        methods |= {f"{name}.{method}" for name in _instances(whole, one.name) for method in own}
    averaged = {f"{name}.update_parameters" for name in _instances(whole, "AveragedModel")}
    return found | methods | averaged


def _instances(whole: ast.Module, kind: str) -> Iterator[str]:
    for node in ast.walk(whole):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        if ast.unparse(node.value.func).rsplit(".", 1)[-1] == kind:
            yield from map(ast.unparse, node.targets)


def _has_step(node: ast.AST) -> bool:
    return any(_is_step(one) for one in ast.walk(node))


def _is_step(node: ast.AST) -> bool:
    if not (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STEPPING
    ):
        return False
    receiver = ast.unparse(node.func.value).lower()
    return not any(word in receiver for word in _NO_OPTIMIZER)


def _has_backward(node: ast.AST) -> bool:
    return any(
        isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "backward"
        for one in ast.walk(node)
    )


def averages_before_step(file: str) -> list[tuple[Place, Place]]:
    """Return the averagings that stand between a backward and the step of the same block, with that step."""
    whole = tree(file)
    if whole is None:
        return []
    calls = _averaging_calls(whole)
    found: list[tuple[Place, Place]] = []
    for node in ast.walk(whole):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                found += _in_block(file, block, calls)
    return found


def hooked_before_step(file: str) -> list[Place]:
    """Return the lines that let an averaging of weights run as a hook before an optimizer's steps."""
    whole = tree(file)
    if whole is None:
        return []
    names = {call.rsplit(".", 1)[-1] for call in _averaging_calls(whole)} | _averaging_methods(whole)
    return [
        Place(file, node.lineno)
        for node in ast.walk(whole)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rsplit(".", 1)[-1] in _HOOKS
        and any(_last_name(one) in names for given in node.args for one in ast.walk(given))
    ]


def called_averagings(file: str) -> list[Place]:
    """Return the lines that call an averaging function of the file: `self.ema.update(model)`, `update_ema(a, b)`."""
    whole = tree(file)
    if whole is None:
        return []
    names = _averaging_methods(whole)
    return [
        Place(file, node.lineno)
        for node in ast.walk(whole)
        if isinstance(node, ast.Call) and _last_name(node.func) in names and node.args
    ]


def averaging_lines(file: str) -> list[Place]:
    """Return the lines that call an averaging function, also without arguments: `ema.update()`."""
    whole = tree(file)
    names = set() if whole is None else _averaging_methods(whole)
    return [
        Place(file, node.lineno)
        for node in (ast.walk(whole) if whole is not None else ())
        if isinstance(node, ast.Call)
        and _last_name(node.func) in names
        and (node.args or any(word in ast.unparse(node.func).lower() for word in _AVERAGES))
    ]


def _averaging_methods(whole: ast.Module) -> set[str]:
    """Return the functions and methods that average: those that a class hands over itself are called `self.update`."""
    return {
        node.name
        for node in ast.walk(whole)
        if isinstance(node, ast.FunctionDef) and any(map(_is_average, ast.walk(node)))
    }


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _in_block(file: str, block: list[ast.stmt], calls: set[str]) -> Iterator[tuple[Place, Place]]:
    backward, average = False, None
    for statement in block:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        if _has_step(statement):
            step = next(one for one in ast.walk(statement) if _is_step(one))
            if average is not None and not _has_backward(statement):
                yield Place(file, average), Place(file, step.lineno)  # type: ignore[attr-defined]
            backward, average = False, None
        elif _has_backward(statement):
            backward, average = True, None
        elif backward and _averages(statement, calls):
            average = statement.lineno


def _averages(statement: ast.stmt, calls: set[str]) -> bool:
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return False  # an average of numbers, kept under a name
    return any(
        (isinstance(one, ast.Call) and ast.unparse(one.func) in calls)
        or (_is_average(one) and isinstance(statement, ast.For | ast.With))
        for one in ast.walk(statement)
    )
