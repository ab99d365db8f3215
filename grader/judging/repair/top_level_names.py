"""Find a program's top-level names: those of its imports, all that it has, and the helpers that a definition uses.

`small_edits` edits the helpers, too (`helper_names` says which), and adds the import of a name that an edit borrows
from the solution, unless the program has the name already. Imports and definitions inside a top-level `if` or `try` are
not found.
"""

import ast

from grader.course.reading import load_course
from grader.submission.syntax import DEFINITIONS, definitions, names_imported, names_in, top_level


def import_statements(source: str) -> dict[str, str]:
    """Return the import statement for each name that a program's top-level imports bind.

    `import a.b` without `as` is left out, because it binds the name `a`, not `a.b`.
    """
    found: dict[str, str] = {}
    for node in top_level(source):
        if isinstance(node, ast.Import):
            found |= {
                alias.asname or alias.name: f"import {ast.unparse(alias)}"
                for alias in node.names
                if "." not in alias.name or alias.asname
            }
        elif isinstance(node, ast.ImportFrom):
            found |= {
                alias.asname or alias.name: f"from {node.module} import {ast.unparse(alias)}"
                for alias in node.names
            }
    return found


def top_level_names(source: str) -> set[str]:
    """Return the names at a program's top level: of imports, of definitions, and all that occur in other statements.

    A name that is only read there counts too: it must be defined somehow, by a star import for example.
    """
    names: set[str] = set()
    for node in top_level(source):
        names |= {node.name} if isinstance(node, DEFINITIONS) else {*names_imported(node), *names_in(node)}
    return names


def helper_names(source: str, definition: ast.AST) -> list[str]:
    """Return the names of the program's functions that the definition uses, directly or through other helpers.

    Functions that are exercises themselves are left out, because they are judged on their own, and so are all classes.
    """
    functions = {name: n for name, n in definitions(source).items() if isinstance(n, ast.FunctionDef)}
    possible_helpers = functions.keys() - load_course().exercises.keys()
    found: list[str] = []
    to_search = [definition]
    while to_search:
        new = sorted((names_in(to_search.pop()) & possible_helpers) - {*found})
        found += new
        to_search += [functions[name] for name in new]
    return found
