"""How each graded function is tested: a package for each lesson, a module for each exercise. Knows no answers.

What a function has to do is its contract: the docstring and the text of its exercise in the lesson's notebook. A driver
puts the function into situations that the contract covers, and records what the contract promises.
"""

import importlib
import pkgutil

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
    package = importlib.import_module(f"{__name__}.{lesson}")
    names = [info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")]
    found: dict[str, Driver] = {}
    for name in names:
        driver = getattr(importlib.import_module(f"{package.__name__}.{name}"), "driver", None)
        if not isinstance(driver, Driver):
            raise NoDriver(name)
        found[driver.name] = driver
    return found
