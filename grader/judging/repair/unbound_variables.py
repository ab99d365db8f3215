"""Find variables that a function reads before it binds them, so that an edit that causes this need not be run.

The order is that of the text, which is the order in which the first round of every loop runs.
"""

import ast


def unbound(definition: ast.FunctionDef | ast.ClassDef) -> set[tuple[str, str]]:
    """Return pairs (function, variable) where the function reads a variable of its own before any line that binds it.

    Bodies of nested functions and lambdas are not examined. A pair is no proof of an error: the name may be `global`,
    or a condition may skip the reading in a loop's first round. Compare an edited definition with the original, to
    see what the edit has added.

    Args:
        definition: a function, or a class whose methods are examined.
    """
    if isinstance(definition, ast.FunctionDef):
        return _in_function(definition)
    found: set[tuple[str, str]] = set()
    for node in definition.body:
        if isinstance(node, ast.FunctionDef):
            found |= _in_function(node)
    return found


def _in_function(function: ast.FunctionDef) -> set[tuple[str, str]]:
    """Return the pairs of one function."""
    arguments = function.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    reader = _Reader(names)
    for statement in function.body:
        reader.visit(statement)
    return {(function.name, name) for name in reader.early & reader.bound}


class _Reader(ast.NodeVisitor):
    """Visit a function in the order in which it runs for the first time."""

    def __init__(self, bound: set[str]) -> None:
        """`bound`: names bound from the start, which are the parameters."""
        self.bound = set(bound)
        self.early: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.id not in self.bound:
                self.early.add(node.id)
        else:
            self.bound.add(node.id)

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
            self.early.add(node.target.id)
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

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        """Visit the generators before the element; their variables are not bound outside."""
        outside = set(self.bound)
        for generator in node.generators:
            self.visit(generator)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self.bound = outside | {n for n in self.bound if n in outside}

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

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
