"""Stands in for torch's compiler, which the first optimizer of a process would import: a second and 70 MB.

All that an optimizer wants of it is to leave some functions alone and not to look into a step, and nothing is compiled
here. Whoever asks for anything else of it gets the real one, from then on.
"""

import importlib
import os
import sys
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

import torch


class _Nothing:
    """No module is one of these, as long as nothing is compiled."""


def _as_it_is(function: Any = None, *_args: Any, **_kwargs: Any) -> Any:
    return _as_it_is if function is None else function


def _nothing(*_args: Any, **_kwargs: Any) -> None:
    return None


_KNOWN: dict[str, dict[str, Any]] = {
    "torch._dynamo": {"disable": _as_it_is, "graph_break": _nothing},
    "torch._dynamo.compiled_autograd": {"_disable": nullcontext},  # around `torch.func.grad`
    "torch._dynamo.eval_frame": {"OptimizedModule": _Nothing},  # accelerate asks whether a model is one
    "torch._inductor": {},
    "torch._inductor.config": {},  # `torch.use_deterministic_algorithms` leaves a note in it
}
"""What is asked of its modules without wanting it. A package stands before its parts."""


class StandIn(ModuleType):
    """A module of the compiler, of which nothing has been wanted yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        parent, _, part = name.rpartition(".")
        self.__path__ = [os.path.join(folder, part) for folder in sys.modules[parent].__path__]
        vars(self).update(_KNOWN[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_real(self.__name__), name)


class _Parts:
    """Finds the compiler's other modules (`import torch._dynamo.utils`), which come with the real one."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """The spec of a module that is there already; None for what is none of ours."""
        package = ".".join(name.split(".")[:2])
        if package in _KNOWN and isinstance(sys.modules.get(package), StandIn):
            _real(package)
            if name in sys.modules:
                return spec_from_loader(name, _Loaded(sys.modules[name]))  # type: ignore[arg-type]
        return None


class _Loaded:
    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, _module: ModuleType) -> None:
        """It has been executed."""


def leave_the_compiler_out() -> None:
    """From now on optimizers of this process do without it; where it is there already, nothing is changed."""
    if any(name in sys.modules for name in _KNOWN):
        return
    for name in _KNOWN:
        sys.modules[name] = StandIn(name)
        parent, _, part = name.rpartition(".")
        setattr(sys.modules[parent], part, sys.modules[name])
    sys.meta_path.insert(0, _Parts())
    _remember()


def put_back() -> list[str]:
    """Let optimizers ask whom they would have asked, the real compiler once it has come; names of what was replaced."""
    replaced = []
    for name, (module, asked) in _asked.items():
        parent, _, part = name.rpartition(".")
        found_by = ((sys.modules, name, module), (vars(sys.modules[parent]), part, module))
        for holder, key, value in (*found_by, *((vars(module), *one) for one in asked.items())):
            if holder.get(key) is not value:
                holder[key] = value
                replaced.append(f"{name}.{key}")
    return replaced


def _remember() -> None:
    _asked.clear()
    for name, asked in _KNOWN.items():
        if name in sys.modules:
            module = sys.modules[name]
            _asked[name] = module, {key: vars(module)[key] for key in asked}


_asked: dict[str, tuple[ModuleType, dict[str, Any]]] = {}
"""Each module that is there, and what is asked of it."""


def _real(name: str) -> ModuleType:
    """The module itself, with which all that stands in for others goes too."""
    for known in reversed(_KNOWN):
        if isinstance(sys.modules.get(known), StandIn):
            del sys.modules[known]
            parent, _, part = known.rpartition(".")
            if parent == torch.__name__:  # who imports it puts the real one there
                delattr(torch, part)
    before = dict(vars(torch))
    found = importlib.import_module(name)
    for known, value in before.items():  # it wraps `torch.manual_seed`: nothing that a submission has done
        if vars(torch)[known] is not value:
            setattr(torch, known, value)
    _remember()
    return found
