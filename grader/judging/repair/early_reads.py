"""Find local variables that are read before they are set.

`small_edits` drops an edit that makes such a read, because most likely it would only raise UnboundLocalError.
Statements are taken from top to bottom, as if every branch ran and every loop ran once. A name is set by an assignment,
a loop, a `with`, an `except`, an `import`, a definition or a parameter.

Example: in `def f(xs): total += sum(xs); total = 0`, the function `f` reads `total` before it sets `total`.

A statement that sets names in another order than `ast` lists its parts, or names that are no `ast.Name`, needs a
`visit_…` of `_FirstRunVisitor`.
"""

import ast
from typing import NamedTuple

from grader.submission.syntax import arguments_of, names_imported


class EarlyRead(NamedTuple):
    """A local variable that a function reads before it sets it."""

    function: str
    variable: str


def early_reads(definition: ast.FunctionDef | ast.ClassDef) -> set[EarlyRead]:
    """Return the early reads of a function, or of the methods of a class.

    A local variable is one that the function sets somewhere. What is inside nested functions, classes and lambdas is
    not examined, and neither are their default arguments and decorators.

    An early read is no proof of an error: the name may be `global`, or an `if` may skip the read until a later round of
    a loop has set it. So the caller should compare those of an edited definition with those of the original.

    Args:
        definition: a function, or a class whose methods are examined.
    """
    if isinstance(definition, ast.FunctionDef):
        return _early_reads_of_function(definition)
    found: set[EarlyRead] = set()
    for node in definition.body:
        if isinstance(node, ast.FunctionDef):
            found |= _early_reads_of_function(node)
    return found


def _early_reads_of_function(function: ast.FunctionDef) -> set[EarlyRead]:
    """Return the early reads of one function."""
    visitor = _FirstRunVisitor({argument.arg for argument in arguments_of(function.args)})
    for statement in function.body:
        visitor.visit(statement)
    # `names_set` now holds the function's local variables; `read_early` holds globals and builtins too.
    return {EarlyRead(function.name, name) for name in visitor.read_early & visitor.names_set}


class _FirstRunVisitor(ast.NodeVisitor):
    """Visit the nodes of a function in the order in which they run first, and note what is read before it is set."""

    def __init__(self, parameters: set[str]) -> None:
        """`parameters`: the names that are set from the start."""
        self.names_set = set(parameters)
        """Names set by what was visited so far."""
        self.read_early: set[str] = set()
        """Names that were read while they were not in `names_set`."""
        self._assigned_in_expressions: set[str] = set()
        """Names set by `:=`. A comprehension's own variables end with it, but those set by `:=` stay."""

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.id not in self.names_set:
                self.read_early.add(node.id)
        else:  # also for `del x`, which makes `x` a local variable
            self.names_set.add(node.id)

    # Python sets these targets after it has computed the values; `generic_visit` would visit the targets first.

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        # `x += 1` reads `x` before it computes the value, but the node of `x` is only marked as stored.
        if isinstance(node.target, ast.Name) and node.target.id not in self.names_set:
            self.read_early.add(node.target.id)
        self.visit(node.value)
        self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)
        self._assigned_in_expressions.add(node.target.id)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        for test in node.ifs:
            self.visit(test)

    def _visit_any_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> None:
        """Visit the generators before the element. Of the names set here, only those of `:=` stay set."""
        set_before = set(self.names_set)
        for generator in node.generators:
            self.visit(generator)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self.names_set = set_before | self._assigned_in_expressions

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _visit_any_comprehension

    # What is inside these is not examined; functions and classes set their names.

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.names_set.add(node.name)

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        return

    # These set names that are no `ast.Name`.

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.names_set.add(node.name)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.names_set.update(names_imported(node))

    visit_ImportFrom = visit_Import
