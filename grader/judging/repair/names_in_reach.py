"""Collect the names and numbers that an edited expression of the learner's may use."""

import ast
from functools import cached_property

from grader.judging.repair.definition import DefinitionText
from grader.judging.repair.solution_statements import Donors
from grader.submission.syntax import assignments_of_names, own_parts

# Each of these is tried in every place, so there are only a few; the likeliest come first.
_MAX_DIVISORS, _MAX_LENGTHS, _MAX_IN_GROUP, _MAX_SIBLINGS = 8, 3, 6, 4


class Scope:
    """Names and numbers that an edited expression may use, in the learner's names."""

    def __init__(self, definition: DefinitionText, donors: Donors) -> None:
        self._definition, self._donors = definition, donors

    @cached_property
    def divisors(self) -> list[ast.expr]:
        """At most eight expressions to divide by: the solution's divisors, then lengths and counts of the learner's."""
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
        """Names of variables that hold counts and other numbers; those that are never read come first."""
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
        return sorted(names, key=lambda name: name not in self.unused)  # unused ones first

    @cached_property
    def unused(self) -> set[str]:
        """Variables that are assigned and never read."""
        return self._definition.names_assigned - self._definition.names_read

    @cached_property
    def lengths(self) -> list[ast.expr]:
        """At most three expressions for a loop's number of rounds: a `len` taken before, or `len` of its iterable."""
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
        """Constants of the solution, without strings."""
        found: dict[str, ast.Constant] = {}
        for donor in self._donors.donors:
            for part in own_parts(donor.versions[0]):
                for node in ast.walk(part):
                    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
                        found[repr(node.value)] = node
        return list(found.values())

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """For each name at most six others that are used alike: numbers, targets of one loop, other variables."""
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
        """Return at most four names that share a word with this one, each with a cost; the lower, the likelier.

        For `train_loader` these are `val_loader` and `loader`. The likeliest slip is in an inner function that reads
        an outer variable instead of its own parameter of a similar name.
        """
        words = set(name.id.split("_"))
        own = self._own_names(name)
        names = [other for other in self._names if other != name.id and words & set(other.split("_"))]
        return sorted((-0.8 if other in own and name.id not in own else 0.5, other) for other in names)[
            :_MAX_SIBLINGS
        ]

    def _own_names(self, name: ast.Name) -> set[str]:
        """Return the parameters of the inner functions that the name stands in."""
        inside = [f for f in self._functions if f.lineno <= name.lineno <= (f.end_lineno or 0)]
        return {argument.arg for function in inside for argument in function.args.args}

    @cached_property
    def _functions(self) -> list[ast.FunctionDef]:
        """Functions inside the definition."""
        own = self._definition.node
        return [n for n in ast.walk(own) if isinstance(n, ast.FunctionDef) and n is not own]

    @cached_property
    def _names(self) -> list[str]:
        """All parameters and assigned variables, with those of the functions inside."""
        stored = [n.id for n in ast.walk(self._definition.node) if isinstance(n, ast.Name)]
        arguments = [n.arg for n in ast.walk(self._definition.node) if isinstance(n, ast.arg)]
        return list(dict.fromkeys([*arguments, *(n for n in stored if n in self._definition.names_assigned)]))


def _counts(value: ast.expr) -> bool:
    """Return True if an assigned value certainly is a number."""
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
