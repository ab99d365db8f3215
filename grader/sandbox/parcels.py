"""Pack a parcel for each exercise: the module of its driver, and the modules of `grader.exercises` that it imports.

A child receives the parcel of an exercise only when it is asked to play that exercise, because a submission can search
the memory and files around it. A driver holds no answer to its own exercise, but it may use something that answers
another one: the driver of `train` needs a config, that of `sam_step` a SAM optimizer, and writing `TrainConfig` and
`SAM` are exercises too. So no file of `grader.exercises` is visible in the sandbox. And exercises are played in the
order of the course (`grading/run_submission.py` asks for them so): when an answer arrives with a driver, the exercise
that it answers has been played already.

`sandbox.py` makes one `ParcelContents`; `client.py Child` asks it for the modules of an exercise, and sends those that
its child has not got yet, packed by `pack_parcel`. `inside/hidden_modules.py HiddenModules.unpack` executes them there.

What a module imports is read from its text, because importing it would import torch. A module of `grader.exercises`
imports others at its top level, and an import names the module itself: `from grader.exercises.fixtures.sam import …`
(or, in a neighbour, `from .sam import …`). What could not be packed rightly is refused:

- an import below the top level, which may never be executed;
- an import from a package: from `from grader.exercises.fixtures import sam` one cannot tell whether `sam` is a module
  or a function;
- an import of another exercise's driver, which would arrive before its exercise is played.

A new driver, or a module that one imports, needs nothing here: `driver_modules` finds the drivers in the packages of
the lessons, and their imports are followed. If a parcel is to carry something more of each module than its name and
code, `PackedModule` gets a field, `pack_parcel` fills it, and `unpack` reads it. Code of ours that is no driver's goes
in when the server starts (`bubblewrap.py _PARTS_INSIDE`).
"""

import ast
import functools
import importlib.util
import marshal
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import CodeType

from grader.exercises import driver_modules
from grader.sandbox.inside.hidden_modules import EXERCISE_PREFIX
from grader.submission.syntax import assignments_of_names

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

    def modules_for(self, exercise: str) -> ImportOrder:
        """Return the names of the modules in an exercise's parcel: those that its driver needs, then the driver's.

        Raises:
            KeyError: the lessons have no such exercise.
            ImportError: a module is imported in a way that is refused, or there is no such module.
        """
        return _import_order(self._driver_modules[exercise])

    def imported_libraries(self) -> tuple[str, ...]:
        """Return the names of the modules outside `grader` that the parcels' modules import at their top level.

        The server imports them once, so that no child has to when it executes a parcel.

        Raises:
            ImportError: see `modules_for`.
        """
        packed = {module for exercise in self._driver_modules for module in self.modules_for(exercise)}
        imported = {name for module in packed for name in _top_level_imports(module)}
        return tuple(sorted(name for name in imported if name.split(".", maxsplit=1)[0] != "grader"))


def pack_parcel(modules: ImportOrder, already_sent: Collection[str] = ()) -> bytes:
    """Return a parcel of those of the modules that the child has not been sent yet: a marshalled list.

    Args:
        modules: what `ParcelContents.modules_for` returns.
        already_sent: names of modules. The driver's must not be among them, because the child takes the last module of
            a parcel as the driver's.
    """
    packed: list[PackedModule] = [
        (name, _compiled_code(name)) for name in modules if name not in already_sent
    ]
    return marshal.dumps(packed)


def imports_to_pack(name: str) -> tuple[str, ...]:
    """Return the names of the modules of `grader.exercises` that a module imports, or of the packages around them.

    Raises:
        ImportError: the module imports one of them below its top level, or there is no such module.
    """
    top_level = _top_level_imports(name)
    anywhere = _imported_by(ast.walk(_syntax_tree(name)), name)
    deeper = next(
        (imported for imported in anywhere if imported not in top_level and _is_to_pack(imported)), None
    )
    if deeper is not None:
        raise ImportError(f"{name} imports {deeper} below its top level", name=deeper)
    return tuple(imported for imported in top_level if _is_to_pack(imported))


def _is_to_pack(imported: str) -> bool:
    """Return True for the modules of `grader.exercises`, and for the packages in which they are."""
    return f"{imported}.".startswith(EXERCISE_PREFIX) or EXERCISE_PREFIX.startswith(f"{imported}.")


@functools.cache
def _import_order(name: str) -> ImportOrder:
    """Return the modules of `grader.exercises` that a module imports, directly or not, then the module itself.

    Raises:
        ImportError: one of them is imported in a way that is refused, or does not exist.
        RecursionError: modules import one another in a circle.
    """
    needed: list[str] = []
    for imported in imports_to_pack(name):
        if _defines_driver(imported):
            raise ImportError(f"{name} imports {imported}, a driver: share a module _….py", name=imported)
        needed += _import_order(imported)
    return (*dict.fromkeys(needed), name)


def _defines_driver(name: str) -> bool:
    """Return True if a module is the driver of an exercise: it sets `driver` at its top level."""
    return any(
        isinstance(statement, ast.Assign) and "driver" in assignments_of_names(statement)
        for statement in _syntax_tree(name).body
    )


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
def _top_level_imports(name: str) -> tuple[str, ...]:
    """Return the full names of the modules that a module imports at its top level: `a.b` for `from a.b import c`."""
    return _imported_by(_syntax_tree(name).body, name)


def _imported_by(nodes: Iterable[ast.AST], name: str) -> tuple[str, ...]:
    """Return the full names of the modules that these nodes of a module import themselves, each once.

    Args:
        nodes: nodes of the module's syntax tree.
        name: the module's name.
    """
    package = name.rpartition(".")[0]  # what a relative import begins at
    found: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(importlib.util.resolve_name("." * node.level + (node.module or ""), package))
    return tuple(dict.fromkeys(found))
