"""Pack each exercise's driver for the sandbox: a child receives it when it is asked to play the exercise, not earlier.

A submission can search the memory and files around it. A driver holds no answer to its own exercise, but it may use
something that answers another one: `train` is called with a config, `sam_step` with a SAM optimizer, and both are
exercises too. So nothing of `grader.exercises` lies in the sandbox, and exercises are played in the order of the
course: by the time an answer arrives with a driver, the exercise that asks for it has been played.
"""

import ast
import functools
import importlib.util
import marshal
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import CodeType

from grader.exercises import driver_modules

_EXERCISES = "grader.exercises."
"""Beginning of the names of the modules that are sent."""

Parcel = tuple[str, ...]
"""Names of modules, each after the modules that it imports; the last one is the driver's."""


class Parcels:
    """The parcels of all exercises of some lessons."""

    def __init__(self, lessons: Sequence[str]) -> None:
        """Find the drivers of the lessons.

        Args:
            lessons: names of the lessons' packages in `grader.exercises`.

        Raises:
            ModuleNotFoundError: there is no such package.
        """
        self._drivers: Mapping[str, str] = {
            exercise: module for lesson in lessons for exercise, module in driver_modules(lesson).items()
        }

    def parcel(self, exercise: str) -> Parcel:
        """Return the modules needed to play the exercise."""
        return _parcel_ending_in(self._drivers[exercise])

    def imported(self) -> tuple[str, ...]:
        """Return the foreign modules that any parcel imports at its top; the server imports them in advance."""
        names = {name for exercise in self._drivers for name in self.parcel(exercise)}
        found = {module for name in names for module in _imports(name)}
        return tuple(sorted(module for module in found if module.split(".", maxsplit=1)[0] != "grader"))


def packed(parcel: Parcel, without: Collection[str] = ()) -> bytes:
    """Return the parcel's modules, except those in `without`, as bytes for `grader.sandbox.inside.unpack`."""
    return marshal.dumps([(name, _code(name)) for name in parcel if name not in without])


@functools.cache
def _parcel_ending_in(name: str) -> Parcel:
    """Return the module `name` after all modules of `grader.exercises` that it needs, directly or not."""
    before = [module for found in imported_exercise_modules(name) for module in _parcel_ending_in(found)]
    return (*dict.fromkeys(before), name)


def imported_exercise_modules(name: str) -> tuple[str, ...]:
    """Return the modules of `grader.exercises` that the module `name` imports."""
    return tuple(found for found in _imports(name) if found.startswith(_EXERCISES))


@functools.cache
def _tree(name: str) -> ast.Module:
    """Return the syntax tree of a module, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name, name=name)
    return ast.parse(Path(spec.origin).read_bytes())


@functools.cache
def _code(name: str) -> CodeType:
    """Return the module's code, compiled under a file name that reveals nothing of this machine's folders."""
    return compile(_tree(name), f"<{name}>", "exec", dont_inherit=True)


@functools.cache
def _imports(name: str) -> tuple[str, ...]:
    """Return the full names of the modules that a module's top-level statements import."""
    package = name.rpartition(".")[0]
    found: list[str] = []
    for statement in _tree(name).body:
        if isinstance(statement, ast.Import):
            found += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            found.append(
                importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)
            )
    return tuple(dict.fromkeys(found))
