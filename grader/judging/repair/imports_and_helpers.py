"""Find what stands around a learner's definition in the program: the helpers that it calls, and imports."""

import ast

from grader.course.reading import load_course
from grader.judging.repair.definition import DefinitionText
from grader.submission.syntax import DEFINITIONS, definitions, names_imported, names_in, top_level


def import_statements(text: str) -> dict[str, str]:
    """Return the import statement for each name that a program's top level imports; not `import a.b` without `as`."""
    found: dict[str, str] = {}
    for node in top_level(text):
        if isinstance(node, ast.Import):
            found |= {
                a.asname or a.name: f"import {ast.unparse(a)}"
                for a in node.names
                if "." not in a.name or a.asname
            }
        elif isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: f"from {node.module} import {ast.unparse(a)}" for a in node.names}
    return found


def top_level_names(source: str) -> set[str]:
    """Return the names that occur at a program's top level: imports, definitions, and names in other statements."""
    names: set[str] = set()
    for node in top_level(source):
        names |= {node.name} if isinstance(node, DEFINITIONS) else {*names_imported(node), *names_in(node)}
    return names


def helper_names(source: str, definition: DefinitionText) -> list[str]:
    """Return the names of the learner's functions that the definition calls, directly or through other helpers.

    Functions of other exercises are left out.
    """
    functions = {name: n for name, n in definitions(source).items() if isinstance(n, ast.FunctionDef)}
    others = functions.keys() - load_course().exercises.keys()
    found: list[str] = []
    reached: list[ast.AST] = [definition.node]
    while reached:
        new = sorted((names_in(reached.pop()) & others) - {*found})
        found += new
        reached += [functions[name] for name in new]
    return found
