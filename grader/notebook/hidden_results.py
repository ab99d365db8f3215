"""Hide the results of an experiment that is run before its prediction is made.

The experiment always runs, but a line above its results asks for the prediction first. In JupyterLab this line (the
*veil*) hides the results until it is clicked; other front ends show the line and hide nothing. A choice takes the veil
away, and so does an error, which nobody should have to look for. The cells concerned are read from the course's own
notebooks: from `predict("01-3")` to the cell with its `reveal`.
"""

import ast
import re
from contextlib import suppress
from functools import cache
from itertools import count
from typing import Any

from grader.base.errors import HanstepError
from grader.course.reading import load_course
from grader.learner.progress import Progress
from grader.notebook.shell import running_shell
from grader.plots import publish

ASKED = re.compile(r"""^predict\(\s*["']([\w-]+)["']\s*\)""", re.MULTILINE)
"""Finds the cells that ask for a prediction, with its id."""
_TOLD = re.compile(r"""\breveal\(\s*["']([\w-]+)["']""")
_FIRST = "위에서 예측을 먼저 골라 보세요."
_VEIL = f"""<style>
.jp-OutputArea-child:has(details.hanstep-veil:not([open])) ~ .jp-OutputArea-child {{ display: none }}
.jp-OutputArea-child .hanstep-veiled {{ display: inline !important }}
</style>
<details class="hanstep-veil" lang="ko"><summary style="cursor:pointer">{_FIRST}
<span class="hanstep-veiled" style="display:none">실험은 실행하고, 결과는 고를 때까지 가려 둡니다.
그냥 보려면 이 줄을 누르세요.</span></summary></details>"""

_numbers = count()
_open_veils: dict[str, set[str]] = {}
"""Veils of this kernel: predictions still to be made, by name of the veil's output."""
_of_this_cell: list[str] = []
"""Name of the veil put up before the running cell; empty if it has none."""


def hide_results_until_predicted() -> None:
    """Hide results from now on if this is a notebook whose cells somebody runs by hand; otherwise do nothing."""
    shell = running_shell()
    if shell is not None:
        shell.events.register("pre_run_cell", _veil_before_cell)
        shell.events.register("post_run_cell", _unveil_after_error)


def lift(prediction: str) -> None:
    """Show the results that waited for this prediction alone."""
    for name, waiting in list(_open_veils.items()):
        waiting.discard(prediction)
        if not waiting:
            _take_down(name)


def _veil_before_cell(info: Any) -> None:
    """Put up the veil before a cell runs, if its results would answer an open prediction."""
    _of_this_cell.clear()
    # Without a front end that can be asked for input, nobody is there to predict: a build, a server, a test.
    kernel = getattr(running_shell(), "kernel", None)
    if not getattr(kernel, "_allow_stdin", False):
        return
    waiting: set[str] = set()
    with suppress(HanstepError, OSError, ValueError, LookupError):  # no experiment may fail because of a veil
        waiting = open_predictions(str(info.raw_cell))
    if waiting:
        name = f"hanstep-veil-{next(_numbers)}"
        _open_veils[name] = waiting
        _of_this_cell.append(name)
        publish({"text/html": _VEIL, "text/plain": _FIRST}, {}, name=name)


def _unveil_after_error(result: Any) -> None:
    """Take the veil away after a cell that raised."""
    if not result.success:
        for name in _of_this_cell:
            _take_down(name)


def _take_down(name: str) -> None:
    _open_veils.pop(name, None)
    publish({"text/html": "", "text/plain": ""}, {}, name=name, update=True)


def open_predictions(source: str) -> set[str]:
    """Return the ids of predictions not yet made that this cell's results would answer."""
    asked = set(_experiments().get(source.strip(), ())) | set(_TOLD.findall(source))
    known = {one.id for lesson in load_course().lessons for one in lesson.predictions} if asked else set()
    asked &= known
    return asked - Progress.load().predictions.keys() if asked and _shows_something(source) else set()


@cache
def _experiments() -> dict[str, frozenset[str]]:
    """Map each lesson cell between a prediction and its `reveal` to the ids of those predictions."""
    found: dict[str, frozenset[str]] = {}
    for part in load_course().parts:
        waiting: set[str] = set()
        for cell in part.cells():
            if cell["cell_type"] != "code":
                continue
            source = "".join(cell["source"])
            if waiting and set(cell["metadata"].get("tags", ())) <= {"folded"}:
                found[source.strip()] = frozenset(waiting)
            waiting |= set(ASKED.findall(source))
            waiting -= set(_TOLD.findall(source))
    return found


def _shows_something(source: str) -> bool:
    """Return True if a cell does more than define, import and assign."""
    try:
        open_: list[ast.AST] = [ast.parse(source)]
    except SyntaxError:  # a magic, or an error that IPython will report
        return True
    while open_:
        node = open_.pop()
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            return True
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            open_ += ast.iter_child_nodes(node)
    return False
