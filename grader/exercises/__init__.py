"""How each graded function is tested: a package for each lesson, a module for each exercise; `fixtures` for all.

What a function has to do is its contract: the docstring and the text of its exercise in the lesson's notebook. A driver
puts the function into situations that the contract covers, and records what the contract promises.
"""

import importlib
import pkgutil
from collections.abc import Iterator

from grader.observe.play import Driver


class NoDriver(LookupError):
    """A module of a lesson's package has no `driver`; its text is the module's name."""


def drivers(lesson: str) -> dict[str, Driver]:
    """Drivers of a lesson's package (`five_line_step`) by exercise: the `driver` of each of its modules.

    Modules whose name begins with `_` hold what several exercises of the lesson share.

    Raises:
        ModuleNotFoundError: there is no such package.
        NoDriver: a module has no `driver`.
    """
    return {driver.name: driver for _, driver in _modules_with_drivers(lesson)}


def driver_modules(lesson: str) -> dict[str, str]:
    """Names of the modules that `drivers` finds them in, by exercise; raises what that does."""
    return {driver.name: module for module, driver in _modules_with_drivers(lesson)}


def _modules_with_drivers(lesson: str) -> Iterator[tuple[str, Driver]]:
    package = importlib.import_module(f"{__name__}.{lesson}")
    names = [info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")]
    for name in names:
        module = importlib.import_module(f"{package.__name__}.{name}")
        driver = getattr(module, "driver", None)
        if not isinstance(driver, Driver):
            raise NoDriver(name)
        yield module.__name__, driver
