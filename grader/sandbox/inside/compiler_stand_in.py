"""Keep torch's compiler from being imported, by putting small stand-in modules in its place.

The first optimizer of a process imports the compiler, which takes a second and 70 MB. An optimizer only asks it not to
compile some functions, and nothing is compiled here anyway. Code that asks for anything else gets the real compiler
from then on.
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


class _Nothing:
    """Stand-in for `OptimizedModule`: as long as nothing is compiled, no module is an instance of it."""


def _as_it_is(function: Any = None, *_args: Any, **_kwargs: Any) -> Any:
    """Stand in for the decorator `disable`, used with or without arguments: return the function unchanged."""
    return _as_it_is if function is None else function


def _nothing(*_args: Any, **_kwargs: Any) -> None:
    return None


_USED_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "torch._dynamo": {"disable": _as_it_is, "graph_break": _nothing},
    "torch._dynamo.compiled_autograd": {"_disable": nullcontext},  # around `torch.func.grad`
    "torch._dynamo.eval_frame": {"OptimizedModule": _Nothing},  # accelerate asks whether a model is one
    "torch._inductor": {},
    "torch._inductor.config": {},  # `torch.use_deterministic_algorithms` leaves a note in it
}
"""Name of a module of the compiler -> the attributes that other code uses although it compiles nothing. A package
stands before its submodules."""


class StandIn(ModuleType):
    """Stand-in for one module of the compiler; access to an attribute that it does not have imports the real one."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        parent, _, last_name = name.rpartition(".")
        self.__path__ = [os.path.join(folder, last_name) for folder in sys.modules[parent].__path__]
        vars(self).update(_USED_ATTRIBUTES[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_import_real(self.__name__), name)


class _RealCompilerFinder:
    """Import finder for the compiler's other modules (`torch._dynamo.utils`), which imports the real compiler."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Import the real compiler if the module belongs to it; return a spec for what that import has loaded.

        None if the module does not belong to the compiler, or still has to be loaded in the ordinary way.
        """
        package = ".".join(name.split(".")[:2])
        if package in _USED_ATTRIBUTES and isinstance(sys.modules.get(package), StandIn):
            _import_real(package)
            if name in sys.modules:
                return spec_from_loader(name, _LoadedModuleLoader(sys.modules[name]))  # type: ignore[arg-type]
        return None


class _LoadedModuleLoader:
    """Import loader for a module that has been loaded already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        """Return the loaded module."""
        return self._module

    def exec_module(self, _module: ModuleType) -> None:
        """Do nothing: the module has been executed already."""


def leave_the_compiler_out() -> None:
    """Install the stand-ins, so that optimizers of this process do without the compiler.

    Does nothing if the compiler has been imported already.
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
    """Restore the compiler's modules, stand-in or real, and those of their attributes in `_USED_ATTRIBUTES`.

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
    """Note the current modules of the compiler for `restore`."""
    _current_modules.clear()
    for name, attributes in _USED_ATTRIBUTES.items():
        if name in sys.modules:
            module = sys.modules[name]
            _current_modules[name] = module, {key: vars(module)[key] for key in attributes}


_current_modules: dict[str, tuple[ModuleType, dict[str, Any]]] = {}
"""Name of each module in `_USED_ATTRIBUTES` that is imported -> the module, and its attributes that other code uses."""


def _import_real(name: str) -> ModuleType:
    """Import the real module `name` of the compiler, after removing all stand-ins, and return it."""
    for known in reversed(_USED_ATTRIBUTES):  # submodules before their packages
        if isinstance(sys.modules.get(known), StandIn):
            del sys.modules[known]
            parent, _, last_name = known.rpartition(".")
            if parent == torch.__name__:  # the import below sets the real one as attribute of torch
                delattr(torch, last_name)
    attributes = dict(vars(torch))
    found = importlib.import_module(name)
    # The import wraps `torch.manual_seed`, which would look like a change made by the submission: undo it.
    for attribute, value in attributes.items():
        if vars(torch)[attribute] is not value:
            setattr(torch, attribute, value)
    _note_current_modules()
    return found
