"""Find what stands around a learner's definition in the program: the helpers that it calls, and imports."""

import ast

from grader.course.reading import load_course
from grader.judging.parsing import parsed
from grader.judging.repair.definition import Definition


def imports_of(text: str) -> dict[str, str]:
    """Return the import statement for each name that a program's top level imports; not `import a.b` without `as`."""
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
    """Return the names that occur at a program's top level: imports, definitions, and names in other statements."""
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
    """Return the names of the learner's functions that the definition calls, directly or through other helpers.

    Functions of other exercises are left out.
    """
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
    """Return the statements of a program's top level; empty if it does not parse."""
    tree = parsed(text)
    return [] if tree is None else tree.body
