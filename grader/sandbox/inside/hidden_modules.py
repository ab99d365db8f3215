"""Hide the grader's modules from submissions, and execute the modules that come in parcels (`grader.sandbox.parcels`).

A submission cannot import a hidden module: the module is neither in `sys.modules` nor on the path. Under the name of a
module of `grader.exercises`, `sys.modules` has a stand-in with its classes only (`_ClassesOnly`). The grader's own
functions still refer to the hidden modules. The packages of `_HIDDEN_PACKAGES` are hidden. A forked server may have
others of ours, which the grader had imported; these are not hidden.

The server makes one `HiddenModules` when everything is imported (`server.py _warm`); `child.py` unpacks parcels by it.
To hide another package of ours, add it to `_HIDDEN_PACKAGES`.
"""

import builtins
import marshal
import sys
import types
from typing import Any, NamedTuple

globals()["__builtins__"] = dict(vars(builtins))  # a copy of its own: see `inside/__init__.py`

_HIDDEN_PACKAGES = ("grader.base", "grader.observe", "grader.exercises", "grader.sandbox")
"""Packages of which all modules are hidden."""
EXERCISE_PREFIX = "grader.exercises."
"""Beginning of the names of all modules that are sent in parcels. A submission can import their classes (see
`_ClassesOnly`)."""


class UnpackedParcel(NamedTuple):
    """What the modules in a parcel define."""

    driver: Any
    """The driver of the parcel's exercise, a `grader.observe.play.Driver`."""
    modules: list[types.ModuleType]
    """All modules that were in the parcel."""


class HiddenModules:
    """The grader's modules in the sandbox, hidden from the imports of submissions.

    Through stack frames, a submission can still get at the modules. In an isolated server it finds no answer there that
    it could still use: drivers come in parcels, each just before its exercise is played (see `grader.sandbox.parcels`).
    """

    def __init__(self) -> None:
        """Hide those of the grader's modules that have been imported so far."""
        self._hidden_modules: dict[str, types.ModuleType] = {}
        """Name of a module -> the module."""
        self._hide_modules()

    def unpack(self, parcel: bytes) -> UnpackedParcel:
        """Execute the modules in a parcel, each after those that it imports, and hide them. Return what they define.

        Raises:
            LookupError: the last module has no driver.
        """
        # The modules in the parcel import the hidden ones. Stand-ins are overwritten.
        sys.modules.update(self._hidden_modules)
        unpacked: list[types.ModuleType] = []
        try:
            for name, code in marshal.loads(parcel):
                module = types.ModuleType(name)
                module.__package__ = name.rpartition(".")[0]
                sys.modules[name] = module
                exec(code, module.__dict__)
                unpacked.append(module)
        finally:
            self._hide_modules()
        driver = unpacked[-1].__dict__.get("driver") if unpacked else None
        if driver is None:
            raise LookupError("a parcel without a driver")
        return UnpackedParcel(driver, unpacked)

    def grader_names(self) -> set[str]:
        """Return the names of the grader's own classes and functions in the hidden modules, and `grader`.

        Messages to the learner do not show these names: `child.py` puts "the grader's code" in their place.
        """
        return {"grader"} | {
            name
            for module in self._hidden_modules.values()
            for name, value in [*vars(module).items()]
            if str(getattr(value, "__module__", "")).startswith("grader.")
        }

    def _hide_modules(self) -> None:
        """Take the grader's modules out of `sys.modules` and `grader`, so that no submission can import them."""
        import grader

        grader.__path__ = []  # otherwise Python would find the files and import them again
        for name in [found for found in sys.modules if found.startswith(_HIDDEN_PACKAGES)]:
            module = sys.modules.pop(name)
            # Not a stand-in that a submission has filed under a name of its own.
            if not isinstance(module, _ClassesOnly):
                self._hidden_modules[name] = module
        for name, module in self._hidden_modules.items():
            if name.startswith(EXERCISE_PREFIX):
                sys.modules[name] = _ClassesOnly(module)
        for name in _HIDDEN_PACKAGES:  # an import also makes a package an attribute of `grader`
            vars(grader).pop(name.removeprefix("grader."), None)


class _ClassesOnly(types.ModuleType):
    """Stands in for a hidden module of `grader.exercises`; has only the classes that the hidden module defines.

    A submission is given objects of these classes, such as a model or a config, and may save them. `pickle` and
    `torch.save` write an object only if they can import its class. The submission could get the class from the object
    anyway.
    """

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__:
                setattr(self, name, value)
