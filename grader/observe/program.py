"""Execute source text as a real module, statement by statement: one that raises loses only the names it defines.

`load_program` is called for submissions (`sandbox/inside/child.py`), for files (`grading/in_process.py`), and for the
solution and mistakes (`judging/reference.py`). Its `Program` is what `play.py` plays. `describe_failure` makes an
exception of the learner's code a `Failure`; the recorder calls it too. What the exception means in Korean is not said
here but in `report/exceptions/`.
"""

import __future__

import ast
import builtins
import difflib
import dis
import linecache
import re
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from grader.observe import attached_modules
from grader.observe.absent_gpu import CudaRequests
from grader.observe.trace import MAX_CLASS_NAME_CHARS, MAX_MESSAGE_CHARS, Failure
from grader.observe.wording import with_particle

_FUTURE_FLAGS = {name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
_MAX_IMPORT_CHARS = 500
"""Maximum characters of an import that a warning names; the sandbox refuses traces with longer warnings."""
_MAX_WARNINGS = 20
"""Maximum number of warnings about failed imports."""
DID_YOU_MEAN = "Did you mean: "
"""Stands before the suggested name in the message of an exception."""
_MIN_SHARED_LETTERS = 3
"""Letters that two names must share at their beginning (`opt` and `optimizer`); a name that has only so many is no
misspelt builtin."""
_MIN_LIKENESS = 0.75
"""Similarity from which a name is suggested: one letter off in four (`logits` for `logit`, `zero_grd`)."""
_RAISE = dis.opmap["RAISE_VARARGS"]
"""Bytecode of a `raise` or `assert`."""
_TEMPORARY_NAME = re.compile(r"(/(?:tmp|hanstep[-.]|step-))[a-z0-9_]{8}\b")
"""Names of temporary folders as `tempfile` creates them, nested too: Python's own and ours."""
_OUR_FOLDER = re.compile(r"(?:/[\w.-]+)*/hanstep[-.]…/(?:run/)?(?=[\w.-])")
"""Beginning of a path in a temporary folder of ours, which no learner chose; checkpoints go into its folder `run`."""

STUDENT_ERRORS = (Exception, SystemExit, GeneratorExit)
"""Exceptions that count as an error of the learner's code. KeyboardInterrupt (the learner's own Ctrl-C) and `TimeLimit`
do not: they end the whole check."""


@dataclass
class Program:
    """A loaded submission, solution or mistake."""

    names: Mapping[str, Any]
    """The module's global names and their values."""
    filename: str
    """File name in its stack frames, which tells the learner's lines from those of torch."""
    failures: dict[str, Failure] = field(default_factory=dict)
    """Top-level name whose definition raised -> the exception. `*` stands for all names: the text does not parse."""
    warnings: list[str] = field(default_factory=list)
    """Korean lines about imports that failed, deprecated calls and the like; they cost no points."""
    cuda: CudaRequests = field(default_factory=CudaRequests)
    """Requests for CUDA so far: while it was loaded, and in the exercise being played."""
    module_name: str | None = None
    """Name in `sys.modules`; None if it is not registered there."""

    def owns(self, filename: str) -> bool:
        """Return True if a stack frame with this file name belongs to the program itself."""
        return filename == self.filename

    def unload(self) -> None:
        """Remove the module from `sys.modules` and its text from `linecache`; its functions still work."""
        if self.module_name is not None:
            sys.modules.pop(self.module_name, None)
        linecache.cache.pop(self.filename, None)


def load_program(source: str, *, name: str = "submission", into: types.ModuleType | None = None) -> Program:
    """Execute `source` as a module, one top-level statement after the other.

    If a statement raises, only the names it would have defined are missing. The module is registered in `sys.modules`,
    where dataclasses under postponed annotations look it up, and its text in `linecache`, where tracebacks and
    `inspect.getsource` find it.

    Args:
        source: the program's text.
        name: name of the module.
        into: an existing module in which to execute it; None: a new one.

    Returns:
        The program. Errors of the source are in its `failures`; only exceptions outside `STUDENT_ERRORS` are raised.
    """
    filename = f"<{name}>"
    module = into or types.ModuleType(name)
    module.__file__ = filename
    sys.modules[name] = module
    linecache.cache[filename] = (len(source), None, [f"{line}\n" for line in source.split("\n")], filename)
    program = Program(names=module.__dict__, filename=filename, module_name=name)
    attached_modules.offer(attached_modules.modules_of(source), filename)
    try:
        tree = ast.parse(source, filename)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        program.failures["*"] = Failure(
            type(error).__name__, _bases(error), str(error)[:MAX_MESSAGE_CHARS], line
        )
        return program
    flags = _future_flags(tree)
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            continue  # covered by `flags`; in a notebook it need not stand first, where Python requires it
        _execute(statement, program, module, flags)
    return program


def _execute(statement: ast.stmt, program: Program, module: types.ModuleType, flags: int) -> None:
    """Execute one top-level statement; note a failure for the names it defines, and a warning for a failed import."""
    try:
        code = compile(
            ast.Module([statement], type_ignores=[]),
            program.filename,
            "exec",
            flags=flags,
            dont_inherit=True,
        )
        with program.cuda.translating(module.__dict__, statement.lineno):
            exec(code, module.__dict__)
    except STUDENT_ERRORS as error:
        failure = describe_failure(error, program)
        if program.cuda.translate_after(failure):
            _execute(statement, program, module, flags)
            return
        for name in defined_names(statement):
            program.failures[name] = failure
        if isinstance(statement, ast.Import | ast.ImportFrom) and len(program.warnings) < _MAX_WARNINGS:
            names = [alias.name for alias in statement.names]
            wanted = ", ".join(names if isinstance(statement, ast.Import) else [statement.module or "."])
            wanted = wanted[:_MAX_IMPORT_CHARS]
            warning = f"{with_particle(wanted, '을/를')} 불러오지 못했어요 ({failure.message})"
            program.warnings.append(f"{statement.lineno}번째 줄: {warning}")


def defined_names(statement: ast.stmt) -> list[str]:
    """Return the names that a top-level statement binds."""
    # `submission/syntax.py` reads names too, but nothing of that folder enters the sandbox.
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
    """Describe an exception, with the deepest line of the program that it passed through.

    Args:
        error: the exception.
        program: the program that raised it.
        call: which call of the learner's function it was raised in, from 0.
    """
    line, raised_by_program = None, False
    frame: FrameType | None = None
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        code = frame.f_code
        raised_by_program = False  # the last frame decides: the one in which it was raised
        if program.owns(code.co_filename):
            line = traceback.tb_lineno
            raised_by_program = code.co_code[traceback.tb_lasti] == _RAISE
        traceback = traceback.tb_next
    try:
        message = _without_outer_functions(without_addresses(str(error)[:MAX_MESSAGE_CHARS]))
        if frame is not None and program.owns(frame.f_code.co_filename):
            message = (message + _suggestion(error, frame))[:MAX_MESSAGE_CHARS]
    except Exception:  # a hostile __str__ or __dir__
        message = "(메시지를 읽을 수 없는 예외)"
    bases = _bases(error)
    return Failure(bases[0], bases, message, line, call, raised_by_program)


def _suggestion(error: BaseException, frame: FrameType) -> str:
    """Return ` Did you mean: 'name'?` for a name or attribute that nearly exists, as Python's own display ends.

    Python 3.11 computes it only while it prints a traceback. It takes `net` for `next`, although a short name is seldom
    a misspelt builtin; here a builtin is suggested for a longer name only, and after the program's own names.
    """
    if type(error) is NameError:
        known = {*frame.f_locals, *frame.f_globals}
    elif type(error) is AttributeError and error.obj is not None:
        known = set(dir(error.obj))
    else:
        return ""
    wanted = error.name
    if not isinstance(wanted, str) or wanted in known:
        return ""
    near = _nearest(wanted, known)
    if not near and type(error) is NameError:
        near = _variables_with_same_beginning(wanted, frame.f_locals)
        if not near and len(wanted) > _MIN_SHARED_LETTERS:
            near = _nearest(wanted, dir(builtins))
    return f". {DID_YOU_MEAN}'{near[0]}'?" if near else ""


def _nearest(wanted: str, known: Iterable[str]) -> list[str]:
    """Return the public name that is most like the wanted one, in a list; an empty list if none is like it."""
    public = sorted(name for name in known if isinstance(name, str) and not name.startswith("_"))
    return difflib.get_close_matches(wanted, public, n=1, cutoff=_MIN_LIKENESS)


def _variables_with_same_beginning(wanted: str, variables: Iterable[str]) -> list[str]:
    """Return the variable that begins with the name, or with which the name begins: `scheduler` for `sched`.

    Return an empty list if there is none, or more than one, or if they share fewer than `_MIN_SHARED_LETTERS` letters.
    """
    alike = [one for one in variables if one.startswith(wanted) or wanted.startswith(one)]
    return alike if len(alike) == 1 and min(len(wanted), len(alike[0])) >= _MIN_SHARED_LETTERS else []


def without_addresses(text: str) -> str:
    """Remove object addresses and names of temporary folders from a text, so that it is the same on every run.

    Of a path in a temporary folder of ours, the rest is kept: `/dev/shm/hanstep-1b_k3x9z/run/best.pt` is `best.pt`.
    """
    without_names = _TEMPORARY_NAME.sub(r"\1…", re.sub(r"0x[0-9a-f]{6,16}\b", "0x…", text))
    return _OUR_FOLDER.sub("", without_names)


def _without_outer_functions(text: str) -> str:
    """Remove the names of the functions in which a function was defined: `fit.<locals>.step()` is `step()`.

    The functions that the driver passes in are called in the learner's code by their own names.
    """
    return re.sub(r"\b[\w.]+\.<locals>\.", "", text)


def _bases(error: BaseException) -> tuple[str, ...]:
    """Return the names of all classes of an exception, its own first, each cut to `MAX_CLASS_NAME_CHARS`."""
    return tuple(cls.__name__[:MAX_CLASS_NAME_CHARS] for cls in type(error).__mro__ if cls is not object)


def _future_flags(tree: ast.Module) -> int:
    """Return the compiler flags of all `from __future__ import …` statements."""
    flags = 0
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= _FUTURE_FLAGS.get(alias.name, 0)
    return flags
