"""Find local variables that are read before they are bound, so that an edit that only raises an error is not played.

Statements are taken from top to bottom, as if every branch ran and every loop ran once.
"""

import ast


def reads_before_binding(definition: ast.FunctionDef | ast.ClassDef) -> set[tuple[str, str]]:
    """Return pairs (function, variable) where the function reads a local variable before it binds that variable.

    A local variable is one that the function binds somewhere. Nested functions, classes and lambdas are not examined,
    neither their bodies nor their default arguments and decorators. A pair is no proof of an error: the name may be
    `global`, or a condition may skip the reading in a loop's first round. So compare the pairs of an edited definition
    with those of the original.

    Args:
        definition: a function, or a class whose methods are examined.
    """
    if isinstance(definition, ast.FunctionDef):
        return _early_reads_of_function(definition)
    found: set[tuple[str, str]] = set()
    for node in definition.body:
        if isinstance(node, ast.FunctionDef):
            found |= _early_reads_of_function(node)
    return found


def _early_reads_of_function(function: ast.FunctionDef) -> set[tuple[str, str]]:
    """Return the pairs of one function."""
    arguments = function.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    reader = _ReadingOrder(names)
    for statement in function.body:
        reader.visit(statement)
    # `bound` now holds every local variable; `read_early` holds globals and builtins too.
    return {(function.name, name) for name in reader.read_early & reader.bound}


class _ReadingOrder(ast.NodeVisitor):
    """Visit a function in the order in which it runs for the first time."""

    def __init__(self, bound: set[str]) -> None:
        """`bound`: names bound from the start, which are the parameters."""
        self.bound = set(bound)
        """Names bound by what was visited so far."""
        self.read_early: set[str] = set()
        """Names that were read while they were not in `bound`."""

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.id not in self.bound:
                self.read_early.add(node.id)
        else:  # `del x` too: it makes `x` a local variable
            self.bound.add(node.id)

    # In the methods below: `generic_visit` would visit targets first, but Python evaluates the value first.

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name) and node.target.id not in self.bound:
            self.read_early.add(node.target.id)
        self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

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
        """Visit the generators before the element. Names that the comprehension binds are not bound after it."""
        outside = set(self.bound)
        for generator in node.generators:
            self.visit(generator)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self.bound = outside | {n for n in self.bound if n in outside}

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _visit_any_comprehension

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.bound.add(node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bound.add(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        return

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bound.add(node.name)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}

    visit_ImportFrom = visit_Import
