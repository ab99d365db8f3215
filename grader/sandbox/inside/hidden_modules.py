"""Hide the grader's modules from submissions, also those that come later in parcels (`grader.sandbox.parcels`)."""

import marshal
import sys
import types
from typing import Any

_HIDDEN = ("grader.base", "grader.observe", "grader.exercises", "grader.sandbox")
"""Packages whose modules are hidden. Of those in `grader.exercises`, a submission can import the classes only."""
_EXERCISES = "grader.exercises."
"""Beginning of the names of the modules in parcels. Submissions are given objects of their classes."""


class HiddenModules:
    """The grader's modules in the sandbox, hidden from a submission's imports.

    The server makes this object, and each child inherits it. Stack frames still lead to the modules, which is harmless:
    they hold no answer to an exercise that is not played yet (see `grader.sandbox.parcels`).
    """

    def __init__(self) -> None:
        self._hidden: dict[str, types.ModuleType] = {}
        self._hide()

    def unpack(self, parcel: bytes) -> tuple[Any, list[types.ModuleType]]:
        """Execute the modules in a parcel, each after those that it imports.

        Returns:
            The driver of the last module, and all modules that were executed.

        Raises:
            LookupError: the last module has no driver.
        """
        sys.modules.update(self._hidden)  # for the imports of the parcel's modules
        driver, unpacked = None, []
        try:
            for name, code in marshal.loads(parcel):
                module = types.ModuleType(name)
                module.__package__ = name.rpartition(".")[0]
                sys.modules[name] = module
                exec(code, module.__dict__)
                unpacked.append(module)
                driver = module.__dict__.get("driver")  # in the end, the last module's
        finally:
            self._hide()
        if driver is None:
            raise LookupError("a parcel without a driver")
        return driver, unpacked

    def grader_names(self) -> set[str]:
        """Return `grader`, and the names under which the hidden modules have classes and functions of the grader.

        Messages to the learner leave these names out.
        """
        return {"grader"} | {
            name
            for module in self._hidden.values()
            for name, value in [*vars(module).items()]
            if str(getattr(value, "__module__", "")).startswith("grader.")
        }

    def _hide(self) -> None:
        """Take the grader's modules out of `sys.modules` and `grader`, so that no submission can import them."""
        import grader

        grader.__path__ = []  # where Python would look for them again
        for name in [found for found in sys.modules if found.startswith(_HIDDEN)]:
            module = sys.modules.pop(name)
            if not isinstance(module, _ClassesOnly):  # a submission may have put a stand-in there
                self._hidden[name] = module
        for name, module in self._hidden.items():
            if name.startswith(_EXERCISES):
                sys.modules[name] = _ClassesOnly(module)
        for name in _HIDDEN:  # an imported package is an attribute of `grader` too
            vars(grader).pop(name.removeprefix("grader."), None)


class _ClassesOnly(types.ModuleType):
    """Stands in for a hidden module, with nothing but the classes that the hidden module defines.

    `pickle` and `torch.save` write an object, such as a whole model or the config of a run, only if they can import its
    class. A submission has the classes anyway, through the objects that it is given.
    """

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__:
                setattr(self, name, value)
