"""Pack a parcel for each exercise: the module of its driver, and the modules of `grader.exercises` that it imports.

A child receives the parcel of an exercise only when it is asked to play that exercise, because a submission can search
the memory and files around it. A driver holds no answer to its own exercise, but it may use something that answers
another one: the driver of `train` needs a config, that of `sam_step` a SAM optimizer, and writing `TrainConfig` and
`SAM` are exercises too. So no file of `grader.exercises` is visible in the sandbox. And exercises are played in the
order of the course (`grading/run_submission.py` asks for them so): when an answer arrives with a driver, the exercise
that it answers has been played already.

`sandbox.py` makes one `ParcelContents`; `client.py Child` asks it for the modules of an exercise, and sends those that
its child has not got yet, packed by `pack_parcel`. `inside/hidden_modules.py HiddenModules.unpack` executes them there.

What a module imports is read from its text, because importing it would import torch. Only the top level is read. So a
module of `grader.exercises` must import others at its top level, and an import must name the module itself:
`from grader.exercises.fixtures.sam import …` (or, in a neighbour, `from .sam import …`). From
`from grader.exercises.fixtures import sam` one cannot tell whether `sam` is a module or a function, so a package is
refused.

A new driver, or a module that one imports, needs nothing here: it is found by these imports. If a parcel is to carry
something more of each module than its name and code, `PackedModule` gets a field, `pack_parcel` fills it, and `unpack`
reads it. Code of ours that is no driver's goes in when the server starts (`bubblewrap.py _PARTS_INSIDE`).
"""

import ast
import functools
import importlib.util
import marshal
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import CodeType

from grader.exercises import driver_modules
from grader.sandbox.inside.hidden_modules import EXERCISE_PREFIX

ImportOrder = tuple[str, ...]
"""Names of modules, each after those of them that it imports."""

PackedModule = tuple[str, CodeType]
"""A module in a parcel: its full name, and its compiled code. A plain tuple, because `marshal` writes no other."""


class ParcelContents:
    """The modules that the parcel of each exercise holds, by name."""

    def __init__(self, lessons: Sequence[str]) -> None:
        """Find the drivers of the lessons.

        Args:
            lessons: names of the lessons' packages in `grader.exercises`.

        Raises:
            ModuleNotFoundError: a lesson has no such package.
            NoDriver: a module of a lesson's package defines no driver.
        """
        self._driver_modules: Mapping[str, str] = {
            exercise: module for lesson in lessons for exercise, module in driver_modules(lesson).items()
        }
        """Name of an exercise -> name of its driver's module."""

    def module_names(self, exercise: str) -> ImportOrder:
        """Return the names of the modules in an exercise's parcel: those that its driver needs, then the driver's."""
        return _needed_modules(self._driver_modules[exercise])

    def imported_libraries(self) -> tuple[str, ...]:
        """Return the names of the modules outside `grader` that the parcels' modules import at their top level.

        The server imports them once, so that no child has to when it executes a parcel.
        """
        packed = {module for exercise in self._driver_modules for module in self.module_names(exercise)}
        imported = {name for module in packed for name in _modules_imported_by(module)}
        return tuple(sorted(name for name in imported if name.split(".", maxsplit=1)[0] != "grader"))


def pack_parcel(modules: ImportOrder, already_sent: Collection[str] = ()) -> bytes:
    """Return a parcel of those of the modules that the child has not been sent yet: a marshalled list.

    Args:
        modules: what `ParcelContents.module_names` returns.
        already_sent: names of modules. The driver's must not be among them, because the child takes the last module of
            a parcel as the driver's.
    """
    packed: list[PackedModule] = [
        (name, _compiled_code(name)) for name in modules if name not in already_sent
    ]
    return marshal.dumps(packed)


def exercise_modules_imported_by(name: str) -> tuple[str, ...]:
    """Return the names of the modules of `grader.exercises` that a module imports at its top level."""
    return tuple(imported for imported in _modules_imported_by(name) if imported.startswith(EXERCISE_PREFIX))


@functools.cache
def _needed_modules(name: str) -> ImportOrder:
    """Return the modules of `grader.exercises` that a module imports, directly or not, then the module itself.

    Raises:
        RecursionError: modules import one another in a circle.
    """
    needed = [
        module for imported in exercise_modules_imported_by(name) for module in _needed_modules(imported)
    ]
    return (*dict.fromkeys(needed), name)


@functools.cache
def _syntax_tree(name: str) -> ast.Module:
    """Return the syntax tree of a module without importing it; the packages that it is in are imported.

    Raises:
        ImportError: there is no such module; or it is a package, whose modules would be missing in the parcel.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name, name=name)
    if spec.submodule_search_locations is not None:
        raise ImportError(f"{name} is a package: import from its modules", name=name)
    return ast.parse(Path(spec.origin).read_bytes())


@functools.cache
def _compiled_code(name: str) -> CodeType:
    """Return a module's code, compiled under a file name that tells a submission nothing of this machine's folders."""
    # dont_inherit: a `from __future__` import in this module here must not hold for the compiled one.
    return compile(_syntax_tree(name), f"<{name}>", "exec", dont_inherit=True)


@functools.cache
def _modules_imported_by(name: str) -> tuple[str, ...]:
    """Return the full names of the modules that a module imports at its top level: `a.b` for `from a.b import c`."""
    package = name.rpartition(".")[0]  # what a relative import begins at
    found: list[str] = []
    for statement in _syntax_tree(name).body:
        if isinstance(statement, ast.Import):
            found += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            found.append(
                importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)
            )
    return tuple(dict.fromkeys(found))
