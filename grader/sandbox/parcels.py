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
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType

from grader.exercises import driver_modules

_OURS = "grader"
_SENT = f"{_OURS}.exercises."

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
        return _with_what_it_imports(self._drivers[exercise])

    def imported(self) -> tuple[str, ...]:
        """Return the foreign modules that any parcel imports at its top; the server imports them in advance."""
        names = {name for exercise in self._drivers for name in self.parcel(exercise)}
        return tuple(sorted({found for name in names for found in _imports(name) if not _is_ours(found)}))


def packed(parcel: Parcel, without: Collection[str] = ()) -> bytes:
    """Return the parcel's modules, except those in `without`, as bytes for `grader.sandbox.inside.unpack`."""
    return marshal.dumps([(name, _code(name)) for name in parcel if name not in without])


@functools.cache
def _with_what_it_imports(name: str) -> Parcel:
    """Return the module `name` after all modules of `grader.exercises` that it needs, directly or not."""
    before = [module for found in needed_by(name) for module in _with_what_it_imports(found)]
    return (*dict.fromkeys(before), name)


def needed_by(name: str) -> tuple[str, ...]:
    """Return the modules of `grader.exercises` that the module `name` imports."""
    return tuple(found for found in _imports(name) if found.startswith(_SENT))


def _is_ours(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] == _OURS


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
    """Return the modules that a module's top level imports."""
    return tuple(dict.fromkeys(_found(_tree(name), name.rpartition(".")[0])))


def _found(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the full names of the modules that top-level statements import."""
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)
