"""Keep torch's compiler from being imported, by putting small stand-in modules in its place.

The first optimizer of a process imports the compiler (`torch._dynamo` and `torch._inductor`), which takes a second and
70 MB. But an optimizer only asks it not to compile some functions, and nothing is compiled here usually. So the
stand-ins have the few attributes that such code uses (`_USED_ATTRIBUTES`). Code that asks for any other attribute or
module makes the real compiler replace the stand-ins.
"""

import builtins
import importlib
import os
import sys
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

import torch

# Give this module its own copy of the builtins, made before any submission runs: a submission can replace `len` or
# `setattr` in the shared dict.
globals()["__builtins__"] = dict(vars(builtins))


class _NoOptimizedModule:
    """Stand in for `OptimizedModule`, of which nothing is an instance as long as nothing is compiled."""


def _disable(function: Any = None, *_args: Any, **_kwargs: Any) -> Any:
    """Stand in for the decorator `torch._dynamo.disable`, used with or without arguments: change nothing."""
    return _disable if function is None else function


def _do_nothing(*_args: Any, **_kwargs: Any) -> None:
    """Stand in for `torch._dynamo.graph_break`, which matters only to code that is being compiled."""


_USED_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "torch._dynamo": {"disable": _disable, "graph_break": _do_nothing},
    "torch._dynamo.compiled_autograd": {"_disable": nullcontext},  # around `torch.func.grad`
    # accelerate asks whether a model is one
    "torch._dynamo.eval_frame": {"OptimizedModule": _NoOptimizedModule},
    "torch._inductor": {},
    "torch._inductor.config": {},  # `torch.use_deterministic_algorithms` leaves a note in it
}
"""Name of a module of the compiler -> the attributes that other code uses even if nothing is compiled. A package comes
before its submodules, because the stand-in of a submodule is made an attribute of that of its package."""

_current_modules: dict[str, tuple[ModuleType, dict[str, Any]]] = {}
"""Name of each imported module in `_USED_ATTRIBUTES` -> the module, stand-in or real, and its attributes listed there.
This is what `restore` restores."""


class StandIn(ModuleType):
    """Stand-in for one module of the compiler. Getting an attribute that it does not have imports the real compiler."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        parent, _, last_name = name.rpartition(".")
        self.__path__ = [os.path.join(folder, last_name) for folder in sys.modules[parent].__path__]
        vars(self).update(_USED_ATTRIBUTES[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python itself looks for such names, for example to copy or print a module
            raise AttributeError(name)
        return getattr(_import_real(self.__name__), name)


class _RealCompilerFinder:
    """Import finder that imports the real compiler when one of its other modules is imported: `torch._dynamo.utils`."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Import the real compiler if the module belongs to it and there is a stand-in.

        Returns:
            A spec for the module if that import has loaded it. None otherwise; Python then finds it in the usual way.
        """
        package = ".".join(name.split(".")[:2])
        if package in _USED_ATTRIBUTES and isinstance(sys.modules.get(package), StandIn):
            _import_real(package)
            if name in sys.modules:
                return spec_from_loader(name, _LoadedModuleLoader(sys.modules[name]))  # type: ignore[arg-type]
        return None


class _LoadedModuleLoader:
    """Import loader that returns a module which has been loaded already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        """Return the loaded module."""
        return self._module

    def exec_module(self, _module: ModuleType) -> None:
        """Do nothing: the module has been executed already."""


def install_stand_ins() -> None:
    """Install the stand-ins, so that this process does not import the compiler until something really needs it.

    Do nothing if the compiler has been imported already.
    """
    if any(name in sys.modules for name in _USED_ATTRIBUTES):
        return
    for name in _USED_ATTRIBUTES:
        sys.modules[name] = StandIn(name)
        parent, _, last_name = name.rpartition(".")
        setattr(sys.modules[parent], last_name, sys.modules[name])
    sys.meta_path.insert(0, _RealCompilerFinder())
    _note_current_modules()


def restore() -> list[str]:
    """Restore the compiler's modules, stand-in or real, and their attributes in `_USED_ATTRIBUTES`.

    That the real compiler has replaced the stand-ins is not undone, because no submission did that itself.

    Returns:
        The names of what a submission had replaced.
    """
    replaced = []
    for name, (module, attributes) in _current_modules.items():
        parent, _, last_name = name.rpartition(".")
        expected: list[tuple[dict[str, Any], str, Any]] = [
            (sys.modules, name, module),
            (vars(sys.modules[parent]), last_name, module),
            *((vars(module), key, value) for key, value in attributes.items()),
        ]
        for holder, key, value in expected:
            if holder.get(key) is not value:
                holder[key] = value
                replaced.append(f"{name}.{key}")
    return replaced


def _note_current_modules() -> None:
    """Note the modules of the compiler that are imported now, so that `restore` restores these."""
    _current_modules.clear()
    for name, attributes in _USED_ATTRIBUTES.items():
        if name in sys.modules:
            module = sys.modules[name]
            _current_modules[name] = module, {key: vars(module)[key] for key in attributes}


def _import_real(name: str) -> ModuleType:
    """Remove all stand-ins, import the real module `name` of the compiler, and return it."""
    for known in reversed(_USED_ATTRIBUTES):  # submodules before their packages
        if isinstance(sys.modules.get(known), StandIn):
            del sys.modules[known]
            parent, _, last_name = known.rpartition(".")
            if parent == torch.__name__:  # the import below sets the real one
                delattr(torch, last_name)
    attributes_before = dict(vars(torch))
    module = importlib.import_module(name)
    # The import wraps `torch.manual_seed`. Undo that, because it would look like a change made by the submission.
    for attribute, value in attributes_before.items():
        if vars(torch)[attribute] is not value:
            setattr(torch, attribute, value)
    _note_current_modules()
    return module
