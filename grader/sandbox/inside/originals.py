"""Remember what scenarios rely on (torch, numpy, `random`, builtins, our own observers), and restore it.

If a submission could replace `Optimizer.__init__` or `numpy.random.seed` for the whole process, it would be judged by
its own replacement. So the server notes the originals before any submission runs. Whatever a submission replaces while
it is loaded is restored before an exercise is played; if it replaces something while an exercise is played, the
exercise fails and what was observed is discarded.
"""

import builtins
import importlib
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import suppress
from operator import is_
from typing import Any, NamedTuple

from grader.sandbox.inside import compiler_stand_in
from grader.sandbox.inside.compiler_stand_in import StandIn
from grader.sandbox.inside.dict_versions import DictVersions
from grader.sandbox.inside.dispatcher import Dispatching
from grader.sandbox.inside.protected_functions import ProtectedFunctions

# Give this module its own copy of the builtins, made before any submission runs: a submission can replace `len` or
# `setattr` in the shared dict.
globals()["__builtins__"] = dict(vars(builtins))

_LIBRARIES = (
    *("torch", "torch._tensor", "torch.random", "torch.serialization", "torch.nn.functional"),
    *("torch.nn.parameter", "torch.nn.utils", "torch.nn.utils.clip_grad", "torch.autograd", "torch.amp"),
    *("torch.amp.grad_scaler", "torch.amp.autocast_mode", "torch.utils.data.dataloader"),
    *("torch.utils.data.sampler", "torch.utils.data.dataset", "torch.autograd.grad_mode"),
    *("builtins", "random", "math", "copy", "numpy", "numpy.random", "numpy.random.mtrand"),
)
"""Modules that scenarios and submissions use directly: every attribute of theirs is kept."""
_PREFIXES = ("torch.nn.modules", "torch.optim", "grader.observe")
"""Beginnings of the names of further modules of this kind. Every imported module with such a name is kept."""
_CALLED_BY_LIBRARIES = (
    *("torch._compile", "torch._utils", "torch.functional", "torch.nn.init", "torch.nn._reduction"),
    *("torch.storage", "torch.autograd.function", "torch.autograd.graph", "torch.autograd.profiler"),
    *("torch.compiler", "torch.overrides", "torch.utils._contextlib", "torch.utils._foreach_utils"),
    *("torch.utils.data._utils.collate", "torch.utils.data._utils.fetch"),
    *("contextlib", "functools", "json", "json.encoder", "warnings", "safetensors.numpy"),
    "grader.sandbox.inside.compiler_stand_in",
)
"""Modules that those in `_LIBRARIES` and `_PREFIXES` call into. They change their own counters and caches, so only
their functions, classes and submodules are kept."""
_PREFIXES_CALLED = ("numpy._core.", "numpy.lib._")
"""Beginnings of the names of further modules like those in `_CALLED_BY_LIBRARIES`: they define numpy's functions."""
_SET_BY_PYTHON = {"__slotnames__", "__doc__"}
"""Attributes of which no change counts: `copy` and `pickle` store `__slotnames__` in a class, and `__doc__` changes
nothing that runs."""

_HOOK_DICTS = (
    *("_global_forward_hooks", "_global_forward_pre_hooks"),
    *("_global_backward_hooks", "_global_backward_pre_hooks"),
    *("_global_parameter_registration_hooks", "_global_module_registration_hooks"),
    *("_global_buffer_registration_hooks", "_global_optimizer_pre_hooks", "_global_optimizer_post_hooks"),
)
"""Names of the dicts in which torch keeps the hooks called in every module or optimizer."""

_HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE, the flag of a class made by a `class` statement, not in C: its attributes can be set."""

Owner = types.ModuleType | type


class _Kept(NamedTuple):
    """A module or class, and those of its attributes that must stay as they are."""

    owner: Owner
    attributes: dict[str, Any]


class Originals:
    """The original attributes of modules and of the classes defined in them, and the contents of their functions.

    Create one in a process: it installs an audit hook, which Python never removes.
    """

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self._versions = DictVersions()
        """Follows the attributes of each owner in `_kept`, in the same order: its positions are indices of `_kept`."""
        self._module_names: list[tuple[types.ModuleType, str]] = []
        """(module, name under which `sys.modules` must have it)"""
        self._functions = ProtectedFunctions()
        sys.addaudithook(self._functions.note_assignment)
        self._hook_dicts: dict[str, Any] = {}
        """Name in `_HOOK_DICTS` -> the dict. If it is not empty, a submission left a hook."""
        self._dispatching = Dispatching()

    def keep_libraries(self) -> None:
        """Keep torch, numpy and the standard library, as far as scenarios rely on them, and our imported observers.

        Call it after an optimizer has been created, because torch wraps some of its own functions then.
        """
        self.keep(importlib.import_module(name) for name in _LIBRARIES)
        self.keep(_imported(_PREFIXES))
        self.keep(
            [*(importlib.import_module(name) for name in _CALLED_BY_LIBRARIES), *_imported(_PREFIXES_CALLED)],
            only_what_is_called=True,
        )
        for module in (sys.modules["torch.nn.modules.module"], sys.modules["torch.optim.optimizer"]):
            self._hook_dicts |= {name: value for name, value in vars(module).items() if name in _HOOK_DICTS}

    def keep(self, modules: Iterable[types.ModuleType], *, only_what_is_called: bool = False) -> None:
        """Keep the attributes of these modules and of the classes defined in them.

        Also note the modules' names in `sys.modules`, protect the functions among the attributes, and wrap the `step`
        of optimizers' classes (`_wrap_step`).

        Args:
            modules: the modules.
            only_what_is_called: of a module's attributes, keep only callables and modules. Of a class, keep all.
        """
        for owner in _owners(modules):
            _wrap_step(owner)
            # `compiler_stand_in.restore` looks after stand-ins.
            kept = {name: value for name, value in vars(owner).items() if not isinstance(value, StandIn)}
            if only_what_is_called and isinstance(owner, types.ModuleType):
                kept = {name: value for name, value in kept.items() if _is_called(value)}
            self._kept.append(_Kept(owner, kept))
            self._versions.follow(vars(owner))
            # The grader's own modules are hidden from `sys.modules` (`hidden_modules`): there is no entry to restore.
            if isinstance(owner, types.ModuleType) and not owner.__name__.startswith("grader."):
                self._module_names.append((owner, owner.__name__))
            for value in kept.values():
                self._functions.protect(value)

    def restore(self) -> list[str]:
        """Restore everything that was changed; return the names of all that had been changed."""
        changed: list[str] = []
        for position in self._versions.written():
            changed += _restore_attributes(*self._kept[position])
            # Only now: if an exception interrupts the restoring, the next call must try again
            self._versions.settle(position)
        for module, name in self._module_names:
            if sys.modules.get(name) is not module:
                changed.append(name)
                sys.modules[name] = module
        for name, hooks in self._hook_dicts.items():
            if hooks:
                changed.append(name)
                hooks.clear()
        return [
            *changed,
            *self._dispatching.leave_modes(),
            *compiler_stand_in.restore(),
            *self._functions.restore(),
        ]


def _restore_attributes(owner: Owner, kept: dict[str, Any]) -> list[str]:
    """Restore the kept attributes of one module or class, and remove new ones of a class.

    Returns:
        The names of the changed attributes, each after its owner's name: `Linear.forward`.
    """
    now = vars(owner)
    # Names in the same order, too: two that were taken away and set again may have exchanged their values.
    unchanged = (
        len(now) == len(kept) and all(map(is_, now, kept)) and all(map(is_, now.values(), kept.values()))
    )
    if unchanged:
        return []
    changed: list[str] = []
    for name, value in kept.items():
        if name not in _SET_BY_PYTHON and (name not in now or now[name] is not value):
            setattr(owner, name, value)
            changed.append(name)
    # A new attribute of a class may hide an inherited one. Modules get new ones in right programs too: an import of a
    # submodule sets one in its package.
    if isinstance(owner, type):
        for name in sorted(set(now) - set(kept) - _SET_BY_PYTHON):
            delattr(owner, name)
            changed.append(name)
    return [f"{owner.__name__}.{name}" for name in changed]


def _imported(prefixes: tuple[str, ...]) -> list[types.ModuleType]:
    """Return the imported modules whose names begin with one of `prefixes`."""
    return [module for name, module in list(sys.modules.items()) if name.startswith(prefixes)]


def _is_called(value: Any) -> bool:
    """Return True for a callable or a module."""
    return callable(value) or isinstance(value, types.ModuleType)


def _owners(modules: Iterable[types.ModuleType]) -> Iterator[Owner]:
    """Yield each module, followed by the classes defined in it whose attributes can be set."""
    for module in modules:
        yield module
        for value in list(vars(module).values()):
            if (
                isinstance(value, type)
                and value.__module__ == module.__name__
                and value.__flags__ & _HEAP_TYPE
            ):
                yield value


def _wrap_step(owner: Owner) -> None:
    """If `owner` is an optimizer's class, wrap its `step` as creating its first instance would.

    Otherwise that instance would look like a change made by the submission.
    """
    from torch.optim import Optimizer

    if isinstance(owner, type) and issubclass(owner, Optimizer) and not getattr(owner.step, "hooked", False):
        with suppress(AttributeError):  # other versions of torch have no `profile_hook_step`
            cls: Any = owner
            cls.step = Optimizer.profile_hook_step(cls.step)
            cls.step.hooked = True
