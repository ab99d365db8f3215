"""What stands around a learner's definition in the program: the helpers that it calls, and what is imported."""

import ast

from grader.course.reading import load_course
from grader.judging.parsing import parsed
from grader.judging.repair.definition import Definition


def imports_of(text: str) -> dict[str, str]:
    """By name the statements of a program's top level that import it."""
    found: dict[str, str] = {}
    for node in _statements(text):
        if isinstance(node, ast.Import):
            found |= {
                a.asname or a.name: f"import {ast.unparse(a)}"
                for a in node.names
                if "." not in a.name or a.asname
            }
        elif isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: f"from {node.module} import {ast.unparse(a)}" for a in node.names}
    return found


def names_bound(source: str) -> set[str]:
    """Names that the program itself has, on top level."""
    names: set[str] = set()
    for node in _statements(source):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        else:
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names


def helpers(source: str, definition: Definition) -> list[str]:
    """The learner's functions that the definition calls, or one that it calls does; not those of other exercises."""
    functions = {n.name: n for n in _statements(source) if isinstance(n, ast.FunctionDef)}
    others = functions.keys() - load_course().exercises.keys()
    found: list[str] = []
    reached: list[ast.AST] = [definition.node]
    while reached:
        used = {n.id for n in ast.walk(reached.pop()) if isinstance(n, ast.Name)}
        new = sorted((used & others) - {*found})
        found += new
        reached += [functions[name] for name in new]
    return found


def _statements(text: str) -> list[ast.stmt]:
    """Those of a program's top level; none of what is no program."""
    tree = parsed(text)
    return [] if tree is None else tree.body
