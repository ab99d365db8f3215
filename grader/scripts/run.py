"""Run a script as Python would run it, under observation."""

import os
import sys
import tokenize
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from grader.scripts.report import Report
from grader.scripts.session import Options, Session, print_crash
from grader.scripts.watch import WatchOver


def run_script(script: Path, arguments: Sequence[str], options: Options) -> Report:
    """Run `script` as `python script arguments` would, watch it, and tell what was found.

    Raises:
        OSError, SyntaxError: the script cannot be read.
    """
    path = os.path.abspath(script)
    with tokenize.open(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    main = ModuleType("__main__")
    main.__file__ = path
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    sys.argv = [str(script), *arguments]
    sys.path[0] = os.path.dirname(path)
    session = Session(path, os.path.dirname(path), options)
    session.begin()
    try:
        exec(code, main.__dict__)
    except WatchOver:
        report = session.end(status=None)
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
        if isinstance(left.code, str):
            sys.stderr.write(left.code + "\n")
        report = session.end(status=status)
    except KeyboardInterrupt:
        report = session.end(status=130)
    except BaseException as error:
        report = session.end(error, status=1)
        print_crash(report)
    else:
        report = session.end()
    return report
