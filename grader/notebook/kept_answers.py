"""A drill or clinic cell that defines a function under an exercise's own name leaves the learner's as it was.

Notebooks that version 0.2.0 wrote into have such cells. Whoever runs one hands in what stands there; then the name
means again what it meant before, so that no later `check` takes the drill for the answer.
"""

import sys
from typing import Any

from grader.course.reading import load_course
from grader.notebook.own_cell import is_practice
from grader.submission.cells import as_python
from grader.submission.practice_cells import practised

_EXERCISE_CELL = "exercise-"
"""How the ids of the lessons' exercise cells begin, where the front end tells ids: such a cell holds an answer."""


def keep_answers() -> None:
    """From now on, in a notebook; nothing happens elsewhere."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        keeper = _Keeper(shell.user_ns)
        shell.events.register("pre_run_cell", keeper.before)
        shell.events.register("post_run_cell", keeper.after)


class _Keeper:
    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._kept: list[dict[str, Any]] = []
        """For each cell that is running, since one can run another."""

    def before(self, info: Any) -> None:
        """A cell is going to run."""
        exercises = practised(as_python(str(info.raw_cell)), tuple(load_course().exercises))
        if str(getattr(info, "cell_id", None)).startswith(_EXERCISE_CELL):
            exercises = frozenset()
        there = {name: self._names[name] for name in exercises if name in self._names}
        self._kept.append({name: value for name, value in there.items() if not is_practice(value)})

    def after(self, _result: Any) -> None:
        """It has run, or failed."""
        if self._kept:
            self._names.update(self._kept.pop())
