"""Make a known program look like somebody else's: other variable names, no comments, no dead branches."""

import ast
import builtins
import io
import keyword
import random
import symtable
import tokenize
from collections.abc import Iterator

from grader.judging.variables import rename_variables, variables_in
from grader.submission.syntax import unrenamable_names

_OTHER_NAMES = {
    "logits": ("out", "output", "scores", "preds"),
    "loss": ("batch_loss", "cost", "value", "err"),
    "xb": ("x", "inputs", "images"),
    "yb": ("y", "targets", "labels"),
    "param": ("p", "weight", "w"),
    "epoch": ("ep", "round_"),
    "history": ("log", "curve", "epoch_losses"),
    "losses": ("log", "curve", "values"),
    "total_loss": ("running_loss", "loss_sum", "total"),
    "num_samples": ("seen", "count", "n"),
    "num_correct": ("hits", "correct", "right"),
    "num_steps": ("updates", "num_updates", "done"),
    "window": ("group", "chunk", "part"),
    "window_loss": ("total", "running_loss", "mean_loss"),
    "stream": ("it", "source", "remaining"),
    "batches": ("window", "parts", "micro"),
    "loss_sum": ("summed", "total", "token_loss"),
    "num_valid": ("num_tokens", "valid", "tokens"),
    "perturbed_loss": ("second_loss", "loss2", "loss_up"),
    "modes": ("flags", "was_training", "saved_modes"),
    "mode": ("flag", "was", "training"),
    "module": ("layer", "block", "m"),
    "grads": ("gs", "gradients", "grad_list"),
    "grad": ("g", "gradient"),
    "total_norm": ("norm", "length", "size"),
    "group": ("g", "param_group"),
    "progress": ("ratio", "t", "frac"),
    "height": ("scale", "factor"),
    "steps_left": ("left", "to_go"),
    "steps_per_epoch": ("per_epoch", "epoch_steps"),
    "total_steps": ("total", "all_steps"),
    "warmup_steps": ("warmup", "ramp"),
    "checkpoint": ("saved", "state", "data"),
    "node": ("fn", "current"),
    "next_node": ("parent", "other"),
    "to_visit": ("stack", "todo"),
    "seen": ("visited", "done"),
    "names": ("found", "kinds"),
    "params": ("ps", "leaves"),
    "before": ("start", "saved"),
    "total": ("size", "amount"),
    "decaying": ("decay", "with_decay"),
    "rest": ("no_decay", "others"),
    "squares": ("parts", "norms", "terms"),
    "temporary": ("tmp", "partial", "draft"),
    "unknown": ("extra", "unexpected"),
    "known": ("allowed", "field_names"),
    "scale": ("factor", "ratio"),
}
"""Other names that people give these variables. A variable that is not listed keeps its name."""
_RENAMED = 0.7
"""Share of the listed variables that get another name: nobody renames all of them."""


def other_names(sources: tuple[str, ...], chance: random.Random) -> dict[str, str]:
    """Draw new names for some variables of one function, such that every version of it can take them without a clash.

    Args:
        sources: the versions of the function.
        chance: draws.
    """
    trees = [ast.parse(source) for source in sources]
    taken = {name for tree in trees for name in _every_name(tree)} | set(dir(builtins)) | set(keyword.kwlist)
    fixed = {name for tree in trees for name in _unrenamable(tree)}
    found: dict[str, str] = {}
    for name in sorted({name for tree in trees for name in variables_in(tree)} - fixed):
        free = [other for other in _OTHER_NAMES.get(name, ()) if other not in taken]
        if free and chance.random() < _RENAMED:
            found[name] = chance.choice(free)
            taken.add(found[name])
    return found


def disguised(source: str, names: dict[str, str]) -> str:
    """Return the program with these names, without comments and without branches that are never or always taken."""
    tree = _RemoveEditTraces().visit(rename_variables(ast.parse(source), names))
    return f"{ast.unparse(ast.fix_missing_locations(tree))}\n"


def free_names(source: str) -> set[str]:
    """Return the names that the program takes from outside: modules, functions, built-in names."""

    def walk(table: symtable.SymbolTable) -> Iterator[str]:
        inside = table.get_type() != "module"  # outside are decorators, base classes and default values
        yield from (
            s.get_name()
            for s in table.get_symbols()
            if s.is_referenced() and (s.is_global() if inside else not s.is_local())
        )
        for child in table.get_children():
            yield from walk(child)

    return set(walk(symtable.symtable(source, "<clinic>", "exec")))


def with_name(source: str, name: str, other: str) -> str:
    """Return the program with its function or class renamed wherever code refers to it; strings and attributes stay."""
    lines = source.splitlines(keepends=True)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    places, before = [], ""
    for token in tokens:
        if token.type == tokenize.NAME and token.string == name and before != ".":
            places.append(token.start)
        before = token.string
    for row, column in reversed(places):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + other + line[column + len(name) :]
    return "".join(lines)


def _every_name(tree: ast.AST) -> Iterator[str]:
    """Yield every name that occurs in the tree: variables, arguments, keywords, definitions and imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.arg or ""
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def _unrenamable(tree: ast.AST) -> Iterator[str]:
    """Yield names that must not be replaced, the fields of a class included: those are passed by keyword."""
    yield from unrenamable_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (name for statement in node.body for name in _assigned(statement))


def _assigned(statement: ast.stmt) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    yield from (target.id for target in targets if isinstance(target, ast.Name))


class _RemoveEditTraces(ast.NodeTransformer):
    """Removes leftovers of an edit that nobody would write: `if False:`, `pass`, `ValueError = KeyError`."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        for statement in node.body:
            if (
                isinstance(statement, ast.Assign)
                and isinstance(statement.value, ast.Name)
                and (names := set(_assigned(statement)))
                and names <= vars(builtins).keys()
            ):
                node.body.remove(statement)
                node = rename_variables(node, dict.fromkeys(names, statement.value.id))  # type: ignore[assignment]
                break
        self.generic_visit(node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt] | None:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        idle = all(isinstance(inner, ast.Pass) for inner in (*node.body, *node.orelse))
        return None if idle and not any(isinstance(n, ast.Call) for n in ast.walk(node.test)) else node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                setattr(
                    node, name, [inner for inner in block if not isinstance(inner, ast.Pass)] or block[:1]
                )
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node
