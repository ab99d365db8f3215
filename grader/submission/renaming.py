"""Give the functions of a file other names: those under which they are to be checked (`--as trainStep=train_step`)."""

import ast
import re
from collections.abc import Mapping
from dataclasses import replace

from grader.submission.source_file import SourceFile
from grader.submission.syntax import Definition, parse

_KEYWORD = re.compile(rb"(?:def|class)\s+")


def renamed(file: SourceFile, names: Mapping[str, str]) -> SourceFile:
    """Return the file with its own top-level names replaced by others, wherever they are read or bound.

    Args:
        file: the file.
        names: own name -> new name.
    """
    spots: list[tuple[int, int, str]] = []
    lines = [line.encode() for line in file.text.split("\n")]
    body = parse(file.text)
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Name) and node.id in names:
            spots.append((node.lineno - 1, node.col_offset, node.id))
    for node in body:
        if isinstance(node, Definition) and node.name in names:
            start = _KEYWORD.search(lines[node.lineno - 1], node.col_offset)
            if start is not None:
                spots.append((node.lineno - 1, start.end(), node.name))
    for line, column, name in sorted(set(spots), reverse=True):
        after = column + len(name.encode())
        lines[line] = lines[line][:column] + names[name].encode() + lines[line][after:]
    defines = {names.get(name, name): line for name, line in file.defines.items()}
    problems = tuple(replace(p, name=names.get(p.name or "", p.name)) for p in file.problems)
    text = "\n".join(line.decode() for line in lines)
    return replace(file, text=text, defines=defines, problems=problems)
