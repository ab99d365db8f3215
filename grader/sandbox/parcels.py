"""Pack a parcel for each exercise: its driver, and what the driver imports from `grader.exercises`.

A child of the sandbox receives a parcel when it is asked to play the exercise, not earlier, because a submission can
search the memory and files around it. A driver holds no answer to its own exercise, but it may use something that
answers another one: `train` is called with a config, `sam_step` with a SAM optimizer, and writing `TrainConfig` and
`SAM` are exercises too. So nothing of `grader.exercises` lies in the sandbox, and exercises are played in the order of
the course: by the time an answer arrives with a driver, the exercise that asks for it has been played.

Imports are read from a module's text. So a module of `grader.exercises` imports others of them at its top and by their
full names: `from grader.exercises.fixtures.sam import …`, not `from grader.exercises.fixtures import sam`.
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

ModuleNames = tuple[str, ...]
"""Names of the modules in a parcel, each after the modules that it imports; the last one is the driver's."""


class Parcels:
    """What the parcels of some lessons' exercises contain."""

    def __init__(self, lessons: Sequence[str]) -> None:
        """Find the drivers of the lessons.

        Args:
            lessons: names of the lessons' packages in `grader.exercises`.

        Raises:
            ModuleNotFoundError: a lesson has no such package.
            NoDriver: a module of a lesson's package defines no driver.
        """
        self._drivers: Mapping[str, str] = {
            exercise: module for lesson in lessons for exercise, module in driver_modules(lesson).items()
        }
        """Name of an exercise -> name of its driver's module."""

    def modules(self, exercise: str) -> ModuleNames:
        """Return the names of the modules in the parcel of an exercise."""
        return _with_imports(self._drivers[exercise])

    def libraries(self) -> tuple[str, ...]:
        """Return the names of the modules outside `grader` that the parcels' modules import, for the server to warm."""
        packed = {name for exercise in self._drivers for name in self.modules(exercise)}
        imported = {module for name in packed for module in _imports(name)}
        return tuple(sorted(module for module in imported if module.split(".", maxsplit=1)[0] != "grader"))


def pack(modules: ModuleNames, without: Collection[str] = ()) -> bytes:
    """Return a parcel of the modules, except those in `without`: bytes for `grader.sandbox.inside.hidden_modules`."""
    return marshal.dumps([(name, _code(name)) for name in modules if name not in without])


@functools.cache
def _with_imports(name: str) -> ModuleNames:
    """Return the names of all modules of `grader.exercises` that a module needs to be executed; its own is the last."""
    before = [needed for imported in exercise_modules_imported_by(name) for needed in _with_imports(imported)]
    return (*dict.fromkeys(before), name)


def exercise_modules_imported_by(name: str) -> tuple[str, ...]:
    """Return the names of the modules of `grader.exercises` that a module itself imports."""
    return tuple(imported for imported in _imports(name) if imported.startswith(_EXERCISES))


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
    """Return the full names of the modules that a module's top-level statements import.

    Of `from a.b import c`, this is `a.b` only.
    """
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
