"""Turns source text into a real module, statement by statement: a statement that raises loses only its own names."""

import __future__

import ast
import dis
import linecache
import re
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.observe.trace import Failure
from grader.observe.wording import with_particle

_FUTURE_FLAGS = {name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
_MESSAGE_LIMIT = 2000
_MAX_WARNINGS = 20

STUDENT_ERRORS = (Exception, SystemExit, GeneratorExit)
"""What counts as an error of a student's code. KeyboardInterrupt (the learner's own Ctrl-C) and `TimeLimit` do not:
they end the whole check."""


@dataclass
class Program:
    """A loaded submission, solution or mistake."""

    names: Mapping[str, Any]
    """What it defines."""
    filename: str
    """The file name in its stack frames: it tells a line of the learner's from a line of torch's."""
    failures: dict[str, Failure] = field(default_factory=dict)
    """Top-level names whose definition raised, and what it raised."""
    warnings: list[str] = field(default_factory=list)
    module_name: str | None = None

    def owns(self, filename: str) -> bool:
        """Whether a frame with this file name is the submission's own code."""
        return filename == self.filename

    def unload(self) -> None:
        """Take the module out of `sys.modules` again; its functions go on working."""
        if self.module_name is not None:
            sys.modules.pop(self.module_name, None)
        linecache.cache.pop(self.filename, None)


def load_program(source: str, *, name: str = "submission", into: types.ModuleType | None = None) -> Program:
    """Execute `source` as the module `name` (or in the module `into`), one top-level statement after the other.

    After a statement that raises, only the names it would have defined are missing. The module is registered in
    `sys.modules` (dataclasses under postponed annotations look their module up there) and its text in
    `linecache` (tracebacks and `inspect.getsource` find it).
    """
    filename = f"<{name}>"
    module = into or types.ModuleType(name)
    module.__file__ = filename
    sys.modules[name] = module
    linecache.cache[filename] = (len(source), None, [f"{line}\n" for line in source.split("\n")], filename)
    program = Program(names=module.__dict__, filename=filename, module_name=name)
    try:
        tree = ast.parse(source, filename)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        program.failures["*"] = Failure(
            type(error).__name__, _bases(error), str(error)[:_MESSAGE_LIMIT], line
        )
        return program
    flags = _future_flags(tree)
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            continue  # already in the flags; it may not stand first in a notebook's virtual file
        _execute(statement, program, module, flags)
    return program


def _execute(statement: ast.stmt, program: Program, module: types.ModuleType, flags: int) -> None:
    try:
        code = compile(
            ast.Module([statement], type_ignores=[]),
            program.filename,
            "exec",
            flags=flags,
            dont_inherit=True,
        )
        exec(code, module.__dict__)
    except STUDENT_ERRORS as error:
        failure = describe_failure(error, program)
        for defined in defined_names(statement):
            program.failures[defined] = failure
        if isinstance(statement, ast.Import | ast.ImportFrom) and len(program.warnings) < _MAX_WARNINGS:
            names = [alias.name for alias in statement.names]
            wanted = ", ".join(names if isinstance(statement, ast.Import) else [statement.module or "."])
            told = f"{with_particle(wanted, '을/를')} 불러오지 못했어요 ({failure.message})"
            program.warnings.append(f"{statement.lineno}번째 줄: {told}")


def defined_names(statement: ast.stmt) -> list[str]:
    """Names that a top-level statement binds."""
    names: list[str] = []
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.alias):
            names.append((node.asname or node.name).split(".")[0])
    return names


def describe_failure(error: BaseException, program: Program, call: int = 0) -> Failure:
    """The exception with the deepest line of the submission it passed through."""
    line, own = None, False
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        own = program.owns(code.co_filename)
        if own:
            line = traceback.tb_lineno
            own = code.co_code[traceback.tb_lasti] == _RAISE
        traceback = traceback.tb_next
    try:
        message = without_addresses(str(error)[:_MESSAGE_LIMIT])
    except Exception:  # a hostile __str__
        message = "(메시지를 읽을 수 없는 예외)"
    return Failure(type(error).__name__, _bases(error), message, line, call, own)


_RAISE = dis.opmap["RAISE_VARARGS"]


def without_addresses(text: str) -> str:
    """The text without addresses of objects and names of temporary folders, so that it is the same on every run."""
    return _TEMPORARY.sub(r"\1…", re.sub(r"0x[0-9a-f]{6,16}\b", "0x…", text))


_TEMPORARY = re.compile(r"(/(?:tmp|hanstep[-.]|step-))[a-z0-9_]{8}\b")
"""As `tempfile` names them, one in another too: those of Python itself, and ours."""


def _bases(error: BaseException) -> tuple[str, ...]:
    return tuple(cls.__name__ for cls in type(error).__mro__ if cls is not object)


def _future_flags(tree: ast.Module) -> int:
    flags = 0
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= _FUTURE_FLAGS.get(alias.name, 0)
    return flags
