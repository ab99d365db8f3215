"""Remember what scenarios rely on (torch, numpy, `random`, builtins, our own observers), and restore it.

If a submission could replace `Optimizer.__init__` or `numpy.random.seed` for the whole process, it would be judged by
its own replacement. So the server notes the originals before any submission runs. Whatever a submission replaces while
it is loaded is put back before an exercise is played; if it replaces something while an exercise is played, the
exercise fails and what was observed is discarded.
"""

import importlib
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import suppress
from operator import is_
from typing import Any

from grader.sandbox.inside import compiler_stand_in
from grader.sandbox.inside.compiler_stand_in import StandIn
from grader.sandbox.inside.dict_versions import DictVersions
from grader.sandbox.inside.dispatcher import Dispatching
from grader.sandbox.inside.protected_functions import ProtectedFunctions

_OURS = "grader"
_TORCH = (
    *("torch", "torch._tensor", "torch.random", "torch.serialization", "torch.nn.functional"),
    *("torch.nn.parameter", "torch.nn.utils", "torch.nn.utils.clip_grad", "torch.autograd", "torch.amp"),
    *("torch.amp.grad_scaler", "torch.amp.autocast_mode", "torch.utils.data.dataloader"),
    *("torch.utils.data.sampler", "torch.utils.data.dataset", "torch.autograd.grad_mode"),
)
_TORCH_FAMILIES = ("torch.nn.modules", "torch.optim")
_OTHERS = ("builtins", "random", "math", "copy", "numpy", "numpy.random", "numpy.random.mtrand")
_CALLED = (
    *(
        "torch._compile",
        "torch._utils",
        "torch.functional",
        "torch.nn.init",
        "torch.nn._reduction",
        "torch.storage",
    ),
    *("torch.autograd.function", "torch.autograd.graph", "torch.autograd.profiler", "torch.compiler"),
    *("torch.overrides", "torch.utils._contextlib", "torch.utils._foreach_utils"),
    *("torch.utils.data._utils.collate", "torch.utils.data._utils.fetch", "contextlib"),
    "grader.sandbox.inside.compiler_stand_in",
)
"""Modules that the ones above call. Only their functions and classes are kept, because the modules themselves change
their other values."""
_LEFT_BY_PYTHON = {"__slotnames__", "__doc__"}
"""Attributes whose change is not the submission's doing; `copy` and `pickle` store `__slotnames__` in a class."""

_GLOBAL_HOOKS = (
    *(
        "_global_forward_hooks",
        "_global_forward_pre_hooks",
        "_global_backward_hooks",
        "_global_backward_pre_hooks",
    ),
    *("_global_parameter_registration_hooks", "_global_module_registration_hooks"),
    *("_global_buffer_registration_hooks", "_global_optimizer_pre_hooks", "_global_optimizer_post_hooks"),
)
"""Names of the dicts in which torch keeps the hooks called in every module or optimizer."""

_HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE, the flag of a class made by a `class` statement, not in C: its attributes can be set."""
_CALLABLE = (types.FunctionType, types.BuiltinFunctionType, type)

Owner = types.ModuleType | type


class Originals:
    """The original attributes of modules and of the classes defined in them, and the contents of their functions."""

    def __init__(self) -> None:
        self._kept: list[tuple[Owner, dict[str, Any]]] = []
        self._versions = DictVersions()
        self._named: list[tuple[types.ModuleType, str]] = []
        self._functions = ProtectedFunctions()
        sys.addaudithook(self._functions.notice)
        self._hooks: dict[str, Any] = {}
        self._dispatching = Dispatching()

    def keep_libraries(self) -> None:
        """Keep torch, numpy and the standard library, as far as scenarios rely on them, and our imported observers.

        Call it after an optimizer has been created, because torch wraps some of its own functions then.
        """
        for name in (*_TORCH, *_OTHERS):
            self.keep([importlib.import_module(name)])
        self.keep((importlib.import_module(name) for name in _CALLED), only_what_is_called=True)
        for module in (sys.modules["torch.nn.modules.module"], sys.modules["torch.optim.optimizer"]):
            self._hooks |= {name: value for name, value in vars(module).items() if name in _GLOBAL_HOOKS}
        for name, module in list(sys.modules.items()):
            if name.startswith(_TORCH_FAMILIES) or name.startswith(f"{_OURS}.observe"):
                self.keep([module])

    def keep(self, modules: Iterable[types.ModuleType], *, only_what_is_called: bool = False) -> None:
        """Keep the attributes of these modules and of the classes defined in them.

        Args:
            modules: the modules.
            only_what_is_called: of a module's own attributes, keep only functions and classes.
        """
        for owner in _owners(modules):
            _hook_step(owner)
            kept = {name: value for name, value in vars(owner).items() if not isinstance(value, StandIn)}
            if only_what_is_called and isinstance(owner, types.ModuleType):
                kept = {name: value for name, value in kept.items() if isinstance(value, _CALLABLE)}
            self._kept.append((owner, kept))
            self._versions.follow(vars(owner))
            # Ours are hidden from `sys.modules`.
            if isinstance(owner, types.ModuleType) and not owner.__name__.startswith(f"{_OURS}."):
                self._named.append((owner, owner.__name__))
            for value in kept.values():
                self._functions.keep(value)

    def put_back(self) -> list[str]:
        """Restore everything that was changed; return its names, empty if nothing was."""
        changed: list[str] = []
        for place in self._versions.written():
            changed += _put_back(*self._kept[place])
            # Only now: if restoring was interrupted, the next call must try again
            self._versions.settle(place)
        for module, name in self._named:
            if sys.modules.get(name) is not module:
                changed.append(name)
                sys.modules[name] = module
        changed += [name for name in self._hooks if self._hooks[name]]
        for hooks in self._hooks.values():
            hooks.clear()
        changed += [
            *self._dispatching.leave_modes(),
            *compiler_stand_in.put_back(),
            *self._functions.put_back(),
        ]
        return changed


def _put_back(owner: Owner, kept: dict[str, Any]) -> Iterator[str]:
    """Restore the attributes of one module or class; yield the names of those that were changed."""
    now = vars(owner)
    if now.keys() == kept.keys() and all(map(is_, now.values(), kept.values())):
        return
    for name, value in kept.items():
        if name not in _LEFT_BY_PYTHON and (name not in now or now[name] is not value):
            setattr(owner, name, value)
            yield f"{owner.__name__}.{name}"
    # In a class a new name may hide an inherited one. In a module new names are harmless: some import things late.
    if isinstance(owner, type):
        for name in sorted(set(now) - set(kept) - _LEFT_BY_PYTHON):
            delattr(owner, name)
            yield f"{owner.__name__}.{name}"


def _owners(modules: Iterable[types.ModuleType]) -> Iterator[Owner]:
    """Yield each module and the classes defined in it whose attributes can be set."""
    for module in modules:
        yield module
        for value in list(vars(module).values()):
            if (
                isinstance(value, type)
                and value.__module__ == module.__name__
                and value.__flags__ & _HEAP_TYPE
            ):
                yield value


def _hook_step(owner: Owner) -> None:
    """Wrap an optimizer class's `step` as creating its first instance would.

    Otherwise that instance would look like a change made by the submission.
    """
    from torch.optim import Optimizer

    if isinstance(owner, type) and issubclass(owner, Optimizer) and not getattr(owner.step, "hooked", False):
        with suppress(AttributeError):  # other versions of torch do not have it
            cls: Any = owner
            cls.step = Optimizer.profile_hook_step(cls.step)
            cls.step.hooked = True
