"""Drivers: how each graded function is tested. A package for each lesson, a module for each exercise.

A function's contract is its docstring and the text of its exercise in the lesson's notebook. A driver puts the function
into situations (scenarios) that the contract covers, and records what the contract promises. `fixtures` holds models,
data and scenarios that all lessons share. How to read a driver, and how to add a scenario, is in `grader/ADDING.md`.

The exercises are found in the modules' text without importing them, so that nobody who only needs their names waits for
torch.
"""

import importlib
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing it imports torch
    from grader.observe.play import Driver

_DRIVER = re.compile(r'^driver = Driver\(\s*"(\w+)"', re.MULTILINE)
"""The line of a module that makes it a driver; the group is the name of its exercise."""


class NoDriver(LookupError):
    """A module of a lesson's package defines no `driver`; the exception's text is the module's name."""


def driver_modules(lesson: str) -> dict[str, str]:
    """Return exercise name -> module name for a lesson's package (`five_line_step`), without importing the modules.

    Modules whose name begins with `_` are no drivers, and are skipped.

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
            match = _DRIVER.search(Path(folder, f"{info.name}.py").read_text(encoding="utf-8"))
            if match is None:
                raise NoDriver(info.name)
            found[match[1]] = f"{package.__name__}.{info.name}"
    return found


def load_driver(module: str) -> "Driver":
    """Import a module that `driver_modules` has named, and return its `driver`."""
    driver: Driver = importlib.import_module(module).driver
    return driver
