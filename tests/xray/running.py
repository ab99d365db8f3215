"""Run scripts in forked children of this process, where torch is loaded already: watched, and as Python runs them."""

import contextlib
import json
import os
import re
import runpy
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch  # loaded before the fork
import torch._dynamo  # noqa: F401  every watch imports it

TIMES = re.compile(r"\d+\.\d+ ?s\b|\d+\.\d+ seconds|it/s.*|'\w+(?:_runtime|_per_second)': '?[\d.e+-]+'?")
"""What scripts print about time differs from run to run."""


LONGEST_WAIT = 600.0
"""A busy machine shall not decide what is found."""


class Ran(NamedTuple):
    """One run: exit status, standard output without times, standard error, and the findings as JSON."""

    status: int
    output: str
    error: str
    found: dict[str, Any]

    @property
    def ids(self) -> list[tuple[str, int]]:
        return [(one["id"], one["line"]) for one in self.found["findings"]]


def watched(script: Path, *options: str, arguments: Sequence[str] = ()) -> Ran:
    """Run `grader xray options script arguments`."""
    from grader.scripts import run, watch  # noqa: F401  imported before the fork

    def command(file: str) -> int:
        watch.LONGEST_WAIT = LONGEST_WAIT
        return _command(["--json", file, "--lang", "en", *options, str(script), *arguments])

    ran = _forked(command, script.parent)
    assert not ran.found.get("observer_failures"), script  # the tool goes on without an observer or a rule
    return ran


def plain(script: Path) -> Ran:
    """Run a script without the tool."""
    return _forked(lambda _: _plain(script), script.parent)


def _command(arguments: Sequence[str]) -> int:
    from grader.scripts.command import main

    return main(arguments, "xray")


def _plain(script: Path) -> int:
    sys.argv = [str(script)]
    sys.path[0] = str(script.parent)
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    return 0


def _forked(work: Callable[[str], int], folder: Path) -> Ran:
    with tempfile.TemporaryDirectory() as place:
        out, err, file = (os.path.join(place, name) for name in ("out", "err", "found.json"))
        child = os.fork()
        if child == 0:
            status = 70
            try:
                _redirect(out, 1)
                _redirect(err, 2)
                os.chdir(place)
                with contextlib.suppress(BaseException):
                    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                    status = work(file)
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        texts = [Path(name).read_text(encoding="utf-8") for name in (out, err)]
        found = json.loads(Path(file).read_text(encoding="utf-8")) if os.path.exists(file) else {}
        return Ran(os.waitstatus_to_exitcode(ended), TIMES.sub("", texts[0]), texts[1], found)


def _redirect(file: str, number: int) -> None:
    opened = os.open(file, os.O_WRONLY | os.O_CREAT)
    os.dup2(opened, number)
