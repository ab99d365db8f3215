"""Run a notebook headless in a fresh kernel, within a time limit; used by `build` and by the tests of the lessons."""

import os
import re
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from grader.base import package

PER_CELL = 240.0
"""Maximum seconds for one cell."""
WHOLE = 540.0
"""Maximum seconds for a whole notebook.

Lessons need 30 to 100 seconds on two idle cores, and several times that beside other programs.
"""

_CELL_FILE = re.compile(r"/\S{0,300}?/ipykernel_\d+/\d+\.py")
r"""Matches file names of cells in tracebacks.

The length is bounded: a picture in an output is 100,000 characters without a space, and an unbounded `\S*` scanned all
of them from each of them, which took a minute in every lesson.
"""


class NotebookFailed(RuntimeError):
    """A notebook did not run to its end; `cell_id` is the cell where it stopped."""

    def __init__(self, cell_id: str | None, message: str) -> None:
        super().__init__(message)
        self.cell_id = cell_id


def execute(notebook: Any, *, whole: float = WHOLE, per_cell: float = PER_CELL) -> float:
    """Run all cells in place, in an empty folder, with a progress file and IPython profile of its own.

    Returns:
        Seconds it took, including the start of the kernel.

    Raises:
        NotebookFailed: a cell raised, ran out of time, or killed its kernel.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    started = time.monotonic()
    current: list[str] = []

    def remaining(_cell: Any) -> float:
        return max(1.0, min(per_cell, started + whole - time.monotonic()))

    def entering(cell: Any, cell_index: int) -> None:
        current.append(cell.get("id", str(cell_index)))

    with tempfile.TemporaryDirectory(prefix=package.TEMPORARY_PREFIX) as folder, _kernel_environment(folder):
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            timeout_func=remaining,
            startup_timeout=60,
            shutdown_kernel="immediate",
            # Errors only: advice about encryption is noise here.
            extra_arguments=["--IPKernelApp.log_level=40"],
            record_timing=False,
            on_cell_start=entering,
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute()
        except CellTimeoutError:
            raise NotebookFailed(_last(current), "제한 시간 안에 끝나지 않았어요") from None
        except DeadKernelError:
            raise NotebookFailed(_last(current), "커널이 죽었어요") from None
        except CellExecutionError as error:
            raise NotebookFailed(_last(current), f"{error.ename}: {error.evalue}") from None
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            _without_machine_paths(output)
    return time.monotonic() - started


def error_outputs(notebook: Any) -> list[str]:
    """Return `cell id: Error: message` for every error output."""
    return [
        f"{cell.get('id')}: {output.get('ename')}: {output.get('evalue')}"
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.get("output_type") == "error"
    ]


def _last(items: list[str]) -> str | None:
    return items[-1] if items else None


def _kernel_environment(folder: str) -> Any:
    """Return a context in which kernels get one thread, none of the user's settings, and the running `grader`.

    Kernels inherit this process's environment; nbclient's own `env` argument would replace it.
    """
    package_home = str(package.FOLDER.parent)
    inherited = os.environ.get("PYTHONPATH")
    return patch.dict(
        os.environ,
        OMP_NUM_THREADS="1",
        HANSTEP_HOME=f"{folder}/.hanstep",
        IPYTHONDIR=f"{folder}/.ipython",
        PYTHONPATH=os.pathsep.join([package_home, *([inherited] if inherited else [])]),
        PYDEVD_DISABLE_FILE_VALIDATION="1",
    )


def _without_machine_paths(output: Any) -> None:
    """Remove this machine's paths from an output; warnings contain them, and the repository must not show them."""
    if "text" in output:
        output["text"] = _neutral(output["text"])
    data = output.get("data", {})
    for kind, content in data.items():
        if kind.startswith("text/") and isinstance(content, str):
            data[kind] = _neutral(content)


def _neutral(text: str) -> str:
    text = _CELL_FILE.sub("<셀>", text)
    libraries = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    for path in sorted(libraries, key=len, reverse=True):
        text = text.replace(path, "site-packages")
    for path in (str(package.FOLDER.parent), sys.base_prefix, str(Path.home())):
        if len(path) > 1:
            text = text.replace(path, "…")
    return text
