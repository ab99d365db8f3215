"""Run a script as Python would run it, under observation."""

import contextlib
import os
import runpy
import signal
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from grader.scripts.report import Report
from grader.scripts.session import Options, Session, print_crash
from grader.scripts.watch import WatchOver


@dataclass(frozen=True, slots=True)
class Program:
    """A script that can be run."""

    code: CodeType
    file: str
    called: str
    """As `sys.argv` names it."""
    path: str
    """First folder of `sys.path`."""
    package: str | None = None
    spec: Any = None
    """Of a module that is run by its name."""


def read_script(script: Path) -> Program:
    """Read a script that `python script` would run.

    Raises:
        OSError, SyntaxError, UnicodeDecodeError: the script cannot be read.
    """
    path = os.path.abspath(script)
    with tokenize.open(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    return Program(code, path, str(script), os.path.dirname(path))


def read_module(name: str) -> Program:
    """Read a module that `python -m name` would run; packages around it are imported.

    Raises:
        ImportError, SyntaxError: the module cannot be read.
    """
    sys.path[0] = os.getcwd()
    name, spec, code = runpy._get_module_details(name)  # type: ignore[attr-defined]
    return Program(code, spec.origin, spec.origin, os.getcwd(), spec.parent, spec)


def run_program(program: Program, arguments: Sequence[str], options: Options) -> Report:
    """Run a program with its arguments, watch it, and tell what was found."""
    main = ModuleType("__main__")
    main.__file__ = program.file
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    main.__package__, main.__spec__ = program.package, program.spec
    sys.modules["__main__"] = main
    sys.argv = [program.called, *arguments]
    sys.path[0] = program.path
    with _own_output(options) as output:
        session = Session(program.file, program.path, options, output=output)
        session.begin()
        try:
            exec(program.code, main.__dict__)
        except WatchOver:
            return session.end(status=None)
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else int(left.code is not None)
            if isinstance(left.code, str):
                sys.stderr.write(left.code + "\n")
            return session.end(status=status)
        except KeyboardInterrupt:
            with _uninterrupted():
                return session.end(status=130)
        except BaseException as error:
            report = session.end(error, status=1)
            print_crash(report, options.language)
            return report
        return session.end()


@contextlib.contextmanager
def _own_output(options: Options) -> Iterator[int | None]:
    """Keep standard output for the report if that is to go there: the script's goes to standard error."""
    if options.json != "-":
        yield None
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield kept
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore a second Ctrl-C while the card is drawn."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
