"""Inline the helper functions that a learner's function calls, so that their lines can be compared, too.

Learners split their code into helpers, nested or at top level, and a mistake may be in one of them. So
`compared_statements` has them inlined before it lists the statements of a definition.

The body of a helper is placed beside the statement that calls it first: after this statement, or before it if it is
compound. The statement itself stays, and so does every later call of the helper. Placed lines keep their line numbers.
Where an argument of the call is a variable, its name replaces the parameter's. Each `return` becomes what the calling
statement does with the value (`_ReturnReplacer`). Helpers of helpers are inlined in the same way. In a class, methods
that the exercise does not ask for are helpers, too (`inline_methods`). So are the methods of another class of the
learner's: those that the learner's code calls where one of their name is called, the others (`__init__`, `__enter__`,
or what a library calls, as `get_lr`) where the class is (`_class_helpers`). A helper that is handed over, such as a
hook, counts as called there. Calls inside a `match` are not looked for.

Example: `mean(values)` does `return sum(values) / len(values)`. Then the statement `average = mean(losses)` is followed
by `average = sum(losses) / len(losses)`, which has the line of that `return`. Before `if not higher(score): return`,
where `higher(x)` does `return x > best`, comes `if not score > best: pass`.

The result is for comparison only and need not run: a helper's own names may be names of the caller, too.

To add another form of helper, such as `mean = lambda values: …`: `_helpers_among` says what is a helper,
`_Inliner._helpers_used_by` finds its calls, and `_body_for_call` makes what is placed.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from grader.judging.variables import rename_variables, variable_name
from grader.submission.syntax import Definition, arguments_of, blocks, head, is_compound, methods

_Helpers = dict[str, ast.FunctionDef]
"""The learner's functions that may be inlined, by name; methods by `self.NAME`, those of another class by `.NAME`, too,
and those of another class that the learner's code does not call by the name of the class."""


def inline_helpers(function: ast.FunctionDef, top_level: Mapping[str, Definition]) -> ast.FunctionDef:
    """Return a copy of the function with the body of each helper beside the statement that calls it first.

    Args:
        function: the learner's function.
        top_level: the program's top-level definitions, by name; the functions among them may be helpers.
    """
    helpers = _helpers_among(top_level.values())
    helpers.pop(function.name, None)
    classes = [node for node in (*top_level.values(), *ast.walk(function)) if isinstance(node, ast.ClassDef)]
    passed = {argument.arg for argument in arguments_of(function.args)}
    inlined = copy.deepcopy(function)
    inliner = _Inliner(
        _class_helpers(classes, (*top_level.values(), function)) | helpers,
        _nested_functions(function),
        not_helpers=passed,
    )
    inlined.body = inliner.inline(inlined.body)
    return inlined


def inline_methods(
    definition: ast.ClassDef, top_level: Mapping[str, Definition], asked_for: Set[str]
) -> ast.ClassDef:
    """Return a copy of the class in which methods contain the bodies of the helpers that they call.

    A helper that several methods call is in each of them. The methods that were inlined are left out.

    Args:
        definition: the learner's class.
        top_level: the program's top-level definitions, by name; the functions among them may be helpers.
        asked_for: names of the methods that the exercise asks for; the other methods are helpers.
    """
    functions = _helpers_among(top_level.values())
    others = [
        node for node in top_level.values() if isinstance(node, ast.ClassDef) and node.name != definition.name
    ]
    functions |= _class_helpers(others, top_level.values())
    helper_methods = {
        f"self.{name}": node for name, node in methods(definition).items() if name not in asked_for
    }
    result = copy.deepcopy(definition)
    inlined: set[str] = set()
    for name, method in methods(result).items():
        if name in asked_for:
            passed = {argument.arg for argument in arguments_of(method.args)}
            inliner = _Inliner(
                functions | helper_methods,
                _nested_functions(method),
                class_name=definition.name,
                not_helpers=passed,
            )
            method.body = inliner.inline(method.body)
            inlined |= inliner.inlined
    result.body = [
        node
        for node in result.body
        if not (isinstance(node, ast.FunctionDef) and f"self.{node.name}" in inlined)
    ]
    return result


def _helpers_among(nodes: Iterable[ast.AST]) -> _Helpers:
    """Return the functions among the nodes, by name; of one name, the last. `async` functions are no helpers."""
    return {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}


def _class_helpers(classes: Sequence[ast.ClassDef], definitions: Iterable[Definition]) -> _Helpers:
    """Return the methods of the learner's other classes as helpers (see `_Helpers`).

    Methods whose name two of the classes have are left out under `self.NAME` and `.NAME`.

    Args:
        classes: the classes.
        definitions: all definitions of the program. A method whose name stands in none of them as that of an
            attribute is called by Python or by a library.
    """
    if not classes:
        return {}
    used = {node.attr for one in definitions for node in ast.walk(one) if isinstance(node, ast.Attribute)}
    helpers: _Helpers = {}
    names = Counter(name for node in classes for name in methods(node))
    for node in classes:
        called_by_others = []
        for name, method in methods(node).items():
            if name.startswith("__") or name not in used:
                called_by_others += method.body
            elif names[name] == 1:
                helpers[f"self.{name}"] = method
                helpers[f".{name}"] = _without_self(method)
        if called_by_others:
            constructor = _without_self(methods(node).get("__init__") or next(iter(methods(node).values())))
            helpers[node.name] = constructor
            constructor.body = called_by_others
    return helpers


def _without_self(method: ast.FunctionDef) -> ast.FunctionDef:
    """Return a shallow copy of a method without its first parameter."""
    result, result.args = copy.copy(method), copy.copy(method.args)
    result.args.args = method.args.args[1:]
    return result


def _nested_functions(function: ast.FunctionDef) -> _Helpers:
    """Return the functions defined inside a function, at any depth, without the methods of classes."""
    inside = list(ast.walk(function))[1:]
    in_classes = {statement for node in inside if isinstance(node, ast.ClassDef) for statement in node.body}
    return _helpers_among(node for node in inside if node not in in_classes)


class _Inliner:
    """Inlines each helper once, at its first call."""

    def __init__(
        self,
        helpers: _Helpers,
        nested: _Helpers,
        *,
        class_name: str | None = None,
        not_helpers: Set[str] = frozenset(),
    ) -> None:
        """Begin with no helper inlined.

        Args:
            helpers: what may be inlined, but for the functions nested in the definition.
            nested: those. They stand in the definition already, so only a call moves them.
            class_name: name of the class around the statements; None outside of classes.
            not_helpers: names of objects that are handed over, such as `opt`: `opt.step()` calls no helper `.step`.
        """
        self._helpers = helpers | nested
        self._nested = nested
        self._class_name = class_name
        self._not_helpers = not_helpers
        self.inlined: set[str] = set()
        """Names, as in `helpers`, of those whose body has been placed; they are not inlined again."""

    def inline(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements with helpers inlined; the blocks of compound statements are changed in place.

        Definitions of inlined helpers are left out, except in a block that ends before the helper's first call.
        """
        result: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                result.append(statement)  # a helper's body is placed where it is called
                continue
            bodies: list[ast.stmt] = []
            for name, call in self._helpers_used_by(statement):
                if name not in self.inlined:
                    self.inlined.add(name)
                    bodies += self.inline(_body_for_call(call, self._helpers[name], statement))
            if is_compound(statement):
                # Before it, because what its first line calls runs before its body.
                result += bodies
                for owner, field, block in blocks(statement):
                    setattr(owner, field, self.inline(block))
                result.append(statement)
            else:
                # After it: if something is missing before the call, feedback points at the line that follows the gap,
                # and that should be the calling line.
                result += [statement, *bodies]
        return [
            statement
            for statement in result
            if not (isinstance(statement, ast.FunctionDef | ast.ClassDef) and statement.name in self.inlined)
        ]

    def _helpers_used_by(self, statement: ast.stmt) -> Iterator[tuple[str, ast.Call]]:
        """Yield the helpers that a statement uses, but not in its blocks; each after those used in its arguments.

        A helper is used if it is called or, unless it is a nested function, if it is read: then it is a property, or
        handed over to be called elsewhere.

        Yields:
            The helper's name, as in `_Helpers`, and its call; for one that is read, a call without arguments.
        """
        if not self._helpers:
            return
        nodes = [node for part in head(statement) for node in _innermost_first(part)]
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            if isinstance(node, ast.Call):
                name = self._helper_named(node.func)
                if name is not None:
                    yield name, node
            elif isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
                name = self._helper_named(node)
                if name is not None and name not in self._nested:
                    yield name, ast.copy_location(ast.Call(node, [], []), node)

    def _helper_named(self, function: ast.expr) -> str | None:
        """Return the name, as in `_Helpers`, of the helper that an expression stands for; None if for none of them.

        `f` stands for the helper `f`; `self.f`, `cls.f` and `Class.f` for the helper `self.f`; `x.f` for the helper
        `.f`.
        """
        name = ""
        match function:
            case ast.Name(id=name):
                pass
            case ast.Attribute(value=ast.Name(id=owner), attr=method) if owner in (
                "self",
                "cls",
                self._class_name,
            ):
                name = f"self.{method}"
            case ast.Attribute(value=value, attr=method) if getattr(value, "id", "") not in self._not_helpers:
                name = f".{method}"
        return name if name in self._helpers else None


def _innermost_first(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression or a statement, each after those inside it."""
    for child in ast.iter_child_nodes(node):
        yield from _innermost_first(child)
    yield node


def _body_for_call(call: ast.Call, helper: ast.FunctionDef, statement: ast.stmt) -> list[ast.stmt]:
    """Return a copy of the helper's body for one call, with parameters renamed and its returns replaced.

    Args:
        call: the call of the helper. The name of an argument that is a variable replaces its parameter's.
        helper: the function that is called.
        statement: the statement that contains the call.
    """
    parameters = [parameter.arg for parameter in (*helper.args.posonlyargs, *helper.args.args)]
    if _passes_object(call, helper):
        del parameters[:1]
    arguments = dict(zip(parameters, call.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    new_names = {
        name: argument for name, value in arguments.items() if (argument := variable_name(value)) is not None
    }
    body = [rename_variables(node, new_names) for node in helper.body]
    return [_ReturnReplacer(call, statement).visit(node) for node in body]


def _passes_object(call: ast.Call, helper: ast.FunctionDef) -> bool:
    """Return True if Python itself passes the helper's first argument, the object or the class, in this call."""
    decorators = {node.id for node in helper.decorator_list if isinstance(node, ast.Name)}
    match call.func:
        case ast.Attribute(value=ast.Name(id=owner)) if "staticmethod" not in decorators:
            return owner == "self" or "classmethod" in decorators
    return False


class _ReturnReplacer(ast.NodeTransformer):
    """Replaces each `return x` of a helper by what the statement that calls it does with `x`.

    If the statement is an assignment of the call alone, this is the assignment of `x` to its first target. If it
    returns the call alone, this stays `return x`. If it is an `if` and `x` is no constant, it is an `if` with only
    `pass` in it: its condition with `x` in the place of the call. In other cases, such as a `while`, it is `x` as a
    statement.
    """

    def __init__(self, call: ast.Call, statement: ast.stmt) -> None:
        self._call, self._statement = call, statement

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        value = node.value or ast.Constant(None)
        replacement: ast.stmt = ast.Expr(value)
        match self._statement:
            case ast.Assign(targets=[target, *_], value=assigned) if assigned is self._call:
                replacement = ast.Assign([target], value)
            case ast.Return(value=returned) if returned is self._call:
                replacement = ast.Return(value)
            case ast.If(test=test) if not isinstance(value, ast.Constant):
                replacement = ast.If(_with_replaced(test, self._call, value), [ast.Pass()], [])
        return ast.fix_missing_locations(ast.copy_location(replacement, node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node  # not visited: returns of a nested function belong to that function


def _with_replaced(tree: Any, old: ast.AST, new: ast.AST) -> Any:
    """Return a copy of a syntax tree, or of a list in one, in which one node is replaced."""
    if tree is old:
        return new
    if isinstance(tree, list):
        return [_with_replaced(item, old, new) for item in tree]
    if isinstance(tree, ast.AST):
        return type(tree)(**{name: _with_replaced(value, old, new) for name, value in ast.iter_fields(tree)})
    return tree
