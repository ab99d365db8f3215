"""What each graded function is put through: a package a lesson, a module an exercise. Knows no answers."""

import importlib
import pkgutil

from grader.observe.play import Driver


def drivers(lesson: str) -> dict[str, Driver]:
    """Drivers of a lesson's package (`five_line_step`) by exercise: the `driver` of each of its modules.

    Modules whose name begins with `_` hold what several exercises of the lesson share.

    Raises:
        ModuleNotFoundError: there is no such package.
        AttributeError: a module has no `driver`.
    """
    package = importlib.import_module(f"{__name__}.{lesson}")
    names = [info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")]
    found = [importlib.import_module(f"{package.__name__}.{name}").driver for name in names]
    return {driver.name: driver for driver in found}
