"""Collect what an edit may put into the learner's expressions: variables, divisors, lengths and constants."""

import ast
from functools import cached_property

from grader.judging.repair.definition import DefinitionText
from grader.judging.repair.solution_statements import Donors
from grader.submission.syntax import assignments_of_names, own_parts

# Every item of these lists is tried in every place where it fits, so the lists are short, with the likeliest first.
_MAX_DIVISORS, _MAX_LENGTHS, _MAX_IN_GROUP, _MAX_SIBLINGS = 8, 3, 6, 4


class Scope:
    """What an edited expression may use, in the learner's names."""

    def __init__(self, definition: DefinitionText, donors: Donors) -> None:
        """Collect nothing yet; each list is made when it is first asked for.

        Args:
            definition: the learner's function or class.
            donors: the solution's statements in the learner's names (see `solution_statements`). Only the likeliest
                version of each donor is used, `versions[0]`.
        """
        self._definition, self._donors = definition, donors

    @cached_property
    def divisors(self) -> list[ast.expr]:
        """A few expressions to divide by.

        First come the solution's divisors, then the learner's `len(…)` and `numbers`, last `len` of the variables that
        loops go through and of the loops' targets.
        """
        found: dict[str, ast.expr] = {}
        for donor in self._donors.donors:
            for node in (n for part in own_parts(donor.versions[0]) for n in ast.walk(part)):
                if is_quotient(node) and isinstance(node, ast.BinOp):
                    found[ast.unparse(node.right)] = node.right
        for node in ast.walk(self._definition.node):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "len":
                found[ast.unparse(node)] = node
        for name in self.numbers:
            found[name] = ast.Name(name, ast.Load())
        for loop in ast.walk(self._definition.node):
            if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Name):
                found[f"len({loop.iter.id})"] = called("len", loop.iter)
                for target in ast.walk(loop.target):
                    if isinstance(target, ast.Name):
                        found.setdefault(f"len({target.id})", called("len", ast.Name(target.id, ast.Load())))
        return list(found.values())[:_MAX_DIVISORS]

    @cached_property
    def numbers(self) -> list[str]:
        """Names that look like numbers; those that are assigned and never read come first.

        These are targets of augmented assignments, operands of calculations and comparisons, indices of `enumerate` and
        `range`, and variables that are assigned a number (see `_counts`). Tensors may be among them.
        """
        names: dict[str, None] = {}
        for node in ast.walk(self._definition.node):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                names[node.target.id] = None
            elif isinstance(node, ast.BinOp | ast.Compare):
                sides = (
                    [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
                )
                names |= {s.id: None for s in sides if isinstance(s, ast.Name)}
            elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
                if ast.unparse(node.iter.func) == "enumerate" and isinstance(node.target, ast.Tuple):
                    names |= {n.id: None for n in node.target.elts[:1] if isinstance(n, ast.Name)}
                elif ast.unparse(node.iter.func) == "range" and isinstance(node.target, ast.Name):
                    names[node.target.id] = None
            elif isinstance(node, ast.Assign) and _counts(node.value):
                names |= {t.id: None for t in node.targets if isinstance(t, ast.Name)}
        return sorted(names, key=lambda name: name not in self.unused)  # False sorts before True

    @cached_property
    def unused(self) -> set[str]:
        """Variables that are assigned and never read."""
        return self._definition.names_assigned - self._definition.names_read

    @cached_property
    def lengths(self) -> list[ast.expr]:
        """A few expressions for a loop's number of rounds.

        These are variables that are assigned `len(…)` anywhere, and `len(xs)` for each loop over `xs` or over a call
        whose first argument is `xs`, as in `enumerate(xs)`.
        """
        found: dict[str, ast.expr] = {}
        for node in ast.walk(self._definition.node):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                if ast.unparse(node.value.func) == "len" and isinstance(node.targets[0], ast.Name):
                    found[node.targets[0].id] = ast.Name(node.targets[0].id, ast.Load())
            elif isinstance(node, ast.For):
                walked = (
                    node.iter.args[0] if isinstance(node.iter, ast.Call) and node.iter.args else node.iter
                )
                if isinstance(walked, ast.Name):
                    found[f"len({walked.id})"] = called("len", walked)
        return list(found.values())[:_MAX_LENGTHS]

    @cached_property
    def constants(self) -> list[ast.Constant]:
        """The constants of the solution, except strings."""
        found: dict[str, ast.Constant] = {}
        for donor in self._donors.donors:
            for part in own_parts(donor.versions[0]):
                for node in ast.walk(part):
                    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
                        found[repr(node.value)] = node
        return list(found.values())

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """For each name, a few names that it may be confused with.

        These are other `numbers` for a number, other targets of the same loop, and other variables that are no numbers.
        """
        alike: dict[str, dict[str, None]] = {}
        kinds = [self.numbers]
        for node in ast.walk(self._definition.node):
            if isinstance(node, ast.For):
                kinds.append([n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)])
        stored = assignments_of_names(self._definition.node)
        kinds.append(list(dict.fromkeys(n for n in stored if n not in self.numbers)))
        for names in kinds:
            for name in names:
                alike.setdefault(name, {}).update({n: None for n in names if n != name})
        return {name: list(others)[:_MAX_IN_GROUP] for name, others in alike.items()}

    def siblings(self, name: ast.Name) -> list[tuple[float, str]]:
        """Return a few names that share a word with `name`, each as (cost, name); the lower the cost, the likelier.

        For `train_loader` these are `val_loader` and `loader`. An inner function's own parameter costs least: the
        function may read an outer variable of a similar name by mistake.
        """
        words = set(name.id.split("_"))
        own = self._own_names(name)
        names = [other for other in self._names if other != name.id and words & set(other.split("_"))]
        return sorted((-0.8 if other in own and name.id not in own else 0.5, other) for other in names)[
            :_MAX_SIBLINGS
        ]

    def _own_names(self, name: ast.Name) -> set[str]:
        """Return the names of the positional parameters of the inner functions that `name` stands in."""
        inside = [f for f in self._functions if f.lineno <= name.lineno <= (f.end_lineno or 0)]
        return {argument.arg for function in inside for argument in function.args.args}

    @cached_property
    def _functions(self) -> list[ast.FunctionDef]:
        """Functions inside the definition."""
        own = self._definition.node
        return [n for n in ast.walk(own) if isinstance(n, ast.FunctionDef) and n is not own]

    @cached_property
    def _names(self) -> list[str]:
        """All parameters and assigned variables of the definition, inner functions included."""
        stored = [n.id for n in ast.walk(self._definition.node) if isinstance(n, ast.Name)]
        arguments = [n.arg for n in ast.walk(self._definition.node) if isinstance(n, ast.arg)]
        return list(dict.fromkeys([*arguments, *(n for n in stored if n in self._definition.names_assigned)]))


def _counts(value: ast.expr) -> bool:
    """Return True if an assigned value probably is a number.

    Such a value is a number, a call that usually returns one, or any binary operation.
    """
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in ("len", "min", "max", "int", "round", "sum", "float")
    return isinstance(value, ast.BinOp) or (
        isinstance(value, ast.Constant) and isinstance(value.value, int | float)
    )


def called(function: str, argument: ast.expr) -> ast.Call:
    """Return the expression `function(argument)`."""
    return ast.Call(ast.Name(function, ast.Load()), [argument], [])


def is_quotient(node: ast.AST) -> bool:
    """Return True for `a / b`."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
