"""How each graded function is tested: a package for each lesson, a module for each exercise; `fixtures` for all.

What a function has to do is its contract: the docstring and the text of its exercise in the lesson's notebook. A driver
puts the function into situations that the contract covers, and records what the contract promises.

Which exercises there are is read off the modules' text, so that nobody who only wants to know it waits for torch.
"""

import importlib
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it imports torch
    from grader.observe.play import Driver

_DRIVER = re.compile(r'^driver = Driver\(\s*"(\w+)"', re.MULTILINE)


class NoDriver(LookupError):
    """A module of a lesson's package has no `driver`; its text is the module's name."""


def driver_modules(lesson: str) -> dict[str, str]:
    """Which module tests which exercise, in a lesson's package (`five_line_step`); they are not imported.

    Modules whose name begins with `_` hold what several exercises of the lesson share.

    Raises:
        ModuleNotFoundError: there is no such package.
        NoDriver: a module has no line `driver = Driver("NAME"`.
    """
    package = importlib.import_module(f"{__name__}.{lesson}")
    found = {}
    for folder in package.__path__:
        for info in pkgutil.iter_modules([folder]):
            if info.name.startswith("_"):
                continue
            said = _DRIVER.search(Path(folder, f"{info.name}.py").read_text(encoding="utf-8"))
            if said is None:
                raise NoDriver(info.name)
            found[said[1]] = f"{package.__name__}.{info.name}"
    return found


def load_driver(module: str) -> "Driver":
    """The `driver` of a module that `driver_modules` has named."""
    driver: Driver = importlib.import_module(module).driver
    return driver
