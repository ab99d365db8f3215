"""Pack a parcel for each exercise: the module of its driver, and the modules of `grader.exercises` that it imports.

A child receives the parcel of an exercise only when it is asked to play that exercise, because a submission can search
the memory and files around it. A driver holds no answer to its own exercise, but it may use something that answers
another one: the driver of `train` needs a config, that of `sam_step` a SAM optimizer, and writing `TrainConfig` and
`SAM` are exercises too. So no file of `grader.exercises` is visible in the sandbox, and exercises are played in the
order of the course: when an answer arrives with a driver, the exercise that it answers has been played already.

What a module imports is read from its text, at the top level only. So a module of `grader.exercises` must import others
at its top level, and an import must name the module itself: `from grader.exercises.fixtures.sam import …` (or, in a
neighbour, `from .sam import …`), not `from grader.exercises.fixtures import sam`, where `sam` might be a function.
"""

import ast
import functools
import importlib.util
import marshal
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import CodeType

from grader.exercises import driver_modules

_EXERCISE_PREFIX = "grader.exercises."
"""Beginning of the names of all modules that are sent in parcels."""

ModuleNames = tuple[str, ...]
"""Names of the modules in a parcel, each after the modules that it imports; the last one is the driver's."""


class Parcels:
    """Knows which modules belong in the parcels of some lessons' exercises."""

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

    def module_names(self, exercise: str) -> ModuleNames:
        """Return the names of the modules in the parcel of an exercise: its driver's, and all that this needs."""
        return _with_its_imports(self._drivers[exercise])

    def imported_libraries(self) -> tuple[str, ...]:
        """Return the names of the modules outside `grader` that the parcels' modules import directly.

        The server imports them once, so that no child has to when it executes a parcel.
        """
        packed = {module for exercise in self._drivers for module in self.module_names(exercise)}
        imported = {name for module in packed for name in _imported_modules(module)}
        return tuple(sorted(name for name in imported if name.split(".", maxsplit=1)[0] != "grader"))


def pack_parcel(modules: ModuleNames, already_sent: Collection[str] = ()) -> bytes:
    """Return a parcel of the modules that the child has not been sent yet; its `HiddenModules.unpack` reads it.

    It is a marshalled list of pairs: name and code of a module.
    """
    return marshal.dumps([(name, _compiled_code(name)) for name in modules if name not in already_sent])


def exercise_modules_imported_by(name: str) -> tuple[str, ...]:
    """Return the names of the modules of `grader.exercises` that a module imports directly."""
    return tuple(imported for imported in _imported_modules(name) if imported.startswith(_EXERCISE_PREFIX))


@functools.cache
def _with_its_imports(name: str) -> ModuleNames:
    """Return a module's name after those of all modules of `grader.exercises` that it imports, directly or not."""
    needed = [
        module for imported in exercise_modules_imported_by(name) for module in _with_its_imports(imported)
    ]
    return (*dict.fromkeys(needed), name)


@functools.cache
def _syntax_tree(name: str) -> ast.Module:
    """Return the syntax tree of a module, without importing it.

    Raises:
        ModuleNotFoundError: there is no such module, or it has no file.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name, name=name)
    return ast.parse(Path(spec.origin).read_bytes())


@functools.cache
def _compiled_code(name: str) -> CodeType:
    """Return a module's code, compiled under a file name that tells a submission nothing of this machine's folders."""
    # dont_inherit: a `from __future__` import in this module here must not hold for the compiled one.
    return compile(_syntax_tree(name), f"<{name}>", "exec", dont_inherit=True)


@functools.cache
def _imported_modules(name: str) -> tuple[str, ...]:
    """Return the full names of the modules that a module imports at its top level: `a.b` for `from a.b import c`."""
    package = name.rpartition(".")[0]
    found: list[str] = []
    for statement in _syntax_tree(name).body:
        if isinstance(statement, ast.Import):
            found += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            found.append(
                importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)
            )
    return tuple(dict.fromkeys(found))
