"""Turn the parcels that the grader sends (`grader.sandbox.parcels`) into modules, and hide them from submissions."""

import marshal
import sys
import types
from typing import Any

_HIDDEN = ("grader.base", "grader.observe", "grader.exercises", "grader.sandbox")
"""Packages of the grader that no submission can import."""
_EXERCISES = "grader.exercises."
"""Beginning of the names of drivers and fixtures. Objects of their classes are given to submissions."""


class Modules:
    """The grader's modules in a child, hidden from a submission's imports.

    Stack frames still lead to them, which is harmless: they hold no answer.
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
        sys.modules.update(self._hidden)
        driver, unpacked = None, []
        try:
            for name, code in marshal.loads(parcel):
                module = types.ModuleType(name)
                module.__package__ = name.rpartition(".")[0]
                sys.modules[name] = module
                exec(code, module.__dict__)
                unpacked.append(module)
                driver = module.__dict__.get("driver")
        finally:
            self._hide()
        if driver is None:
            raise LookupError("a parcel without a driver")
        return driver, unpacked

    def names(self) -> set[str]:
        """Return `grader`, and the names of all classes and functions that the hidden modules define or import from it.

        `sys.modules` does not lead to these modules any more.
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
        for name in [name for name in sys.modules if name.startswith(_HIDDEN)]:
            module = sys.modules.pop(name)
            if not isinstance(module, _ClassesOf):
                self._hidden[name] = module
        for name, module in self._hidden.items():
            if name.startswith(_EXERCISES):
                sys.modules[name] = _ClassesOf(module)
        for name in _HIDDEN:  # an imported package is an attribute of `grader` too
            vars(grader).pop(name.removeprefix("grader."), None)


class _ClassesOf(types.ModuleType):
    """Stands in for a hidden module, with nothing but the classes that it defines.

    `pickle` and `torch.save` look a class up by its module when they write an object of it, such as a whole model or
    the config of a run. A submission has the classes anyway, through the objects that it is given.
    """

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__:
                setattr(self, name, value)
