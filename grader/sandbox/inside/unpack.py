"""Turn the parcels that the grader sends (`grader.sandbox.parcels`) into modules, and hide ours from submissions."""

import marshal
import sys
import types
from typing import Any

_OURS = "grader"
_HIDDEN = tuple(f"{_OURS}.{name}" for name in ("base", "observe", "exercises", "sandbox"))


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

    def _hide(self) -> None:
        """Take our modules out of `sys.modules` and `grader`, so that no submission can import them."""
        import grader

        grader.__path__ = []
        for name in [n for n in sys.modules if n.startswith(_HIDDEN)]:
            self._hidden[name] = sys.modules.pop(name)
        for name in _HIDDEN:
            vars(grader).pop(name.rpartition(".")[2], None)
