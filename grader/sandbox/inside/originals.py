"""Remember the attributes of modules and classes that scenarios rely on, and restore those that a submission replaced.

A submission runs in the same process as the code that observes it. If it replaced `Optimizer.__init__` or
`numpy.random.seed`, it would be judged by its own replacement. So the server remembers the originals in torch, numpy,
the standard library and `grader.observe` before any submission runs (the lists below say of which modules), and the
child remembers those of each driver when it receives the driver. The child then restores them:

- what a submission replaced while it was loaded is restored before an exercise is played, and costs no points;
- if something is found replaced after an exercise was played, that exercise fails, and its trace is discarded.

`Originals` compares the attributes of modules and classes. What comparing cannot find has modules of its own:
`noted_assignments` (another class of a module, other bases of a class), `protected_functions` (changes inside
functions), `dispatcher` (below functions, in torch's C++ code) and `compiler_stand_in` (the stand-ins for torch's
compiler).

`server.py _warm` makes the one `Originals`; `child.py _Player` calls `remember` and `restore`. To remember another
module, add it to `_FULLY_REMEMBERED`, or to `_CALLABLES_REMEMBERED` if it changes its own attributes. State that is in
no attribute (such as torch's global hooks) gets a field of `Originals` and a loop in `_restore_once`, or a module like
`dispatcher`; each with an attack in `tests/attacks`.
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
from grader.sandbox.inside.dispatcher import DispatchState
from grader.sandbox.inside.noted_assignments import NotedAssignments
from grader.sandbox.inside.protected_functions import ProtectedFunctions

globals()["__builtins__"] = dict(vars(builtins))  # a copy of its own: see `inside/__init__.py`

# Each `*(…),` below is one line of names; a formatter would give each name a line of its own.
_FULLY_REMEMBERED = (
    *("torch", "torch._tensor", "torch.random", "torch.serialization", "torch.nn.functional"),
    *("torch.nn.parameter", "torch.nn.utils", "torch.nn.utils.clip_grad", "torch.autograd", "torch.amp"),
    *("torch.amp.grad_scaler", "torch.amp.autocast_mode", "torch.utils.data.dataloader"),
    *("torch.utils.data.sampler", "torch.utils.data.dataset", "torch.autograd.grad_mode"),
    *("builtins", "random", "math", "copy", "numpy", "numpy.random", "numpy.random.mtrand"),
)
"""Modules that scenarios and submissions use directly. All their attributes but stand-ins are remembered."""
_FULLY_REMEMBERED_PREFIXES = ("torch.nn.modules", "torch.optim", "grader.observe")
"""Beginnings of the names of more such modules: those that are imported when `remember_libraries` is called."""
_CALLABLES_REMEMBERED = (
    *("torch._compile", "torch._utils", "torch.functional", "torch.nn.init", "torch.nn._reduction"),
    *("torch.storage", "torch.autograd.function", "torch.autograd.graph", "torch.autograd.profiler"),
    *("torch.compiler", "torch.overrides", "torch.utils._contextlib", "torch.utils._foreach_utils"),
    *("torch.utils.data._utils.collate", "torch.utils.data._utils.fetch"),
    *("contextlib", "functools", "gc", "inspect", "json", "json.encoder", "marshal", "os", "re", "signal"),
    *("socket", "struct", "sys", "threading", "time", "types", "warnings", "safetensors.numpy"),
    "grader.sandbox.inside.compiler_stand_in",
)
"""Modules that the modules above, drivers, or this folder's code call. Only their functions, classes and submodules are
remembered, because they change their other attributes, such as counters and caches, themselves."""
_CALLABLES_REMEMBERED_PREFIXES = ("numpy._core.", "numpy.lib._")
"""Beginnings of the names of more such modules, as above: those that define numpy's functions."""
_MAX_PASSES = 10
"""Maximum number of times that everything is looked at in one call of `restore`: two, if nothing hinders it."""
_IGNORED_ATTRIBUTES = {"__slotnames__", "__doc__"}
"""Attributes that may change: `copy` and `pickle` store `__slotnames__` in a class, and `__doc__` changes nothing that
runs."""

_HOOK_DICT_NAMES = (
    *("_global_forward_hooks", "_global_forward_pre_hooks"),
    *("_global_backward_hooks", "_global_backward_pre_hooks"),
    *("_global_parameter_registration_hooks", "_global_module_registration_hooks"),
    *("_global_buffer_registration_hooks", "_global_optimizer_pre_hooks", "_global_optimizer_post_hooks"),
)
"""Names of torch's dicts of the hooks that every module or optimizer calls."""

_COPIER_DICTS = (("copy", "_copy_dispatch"), ("copy", "_deepcopy_dispatch"), ("copyreg", "dispatch_table"))
"""Pairs of a module and the name of its dict of the functions that copy or pickle objects of a class."""

_HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE, a flag of all classes made by a `class` statement and of some made in C. Attributes of a class
without it cannot be set, so they need not be remembered."""

Owner = types.ModuleType | type
"""A module or class, whose attributes are remembered."""


class _OriginalAttributes(NamedTuple):
    """A module or class, and the attributes of it that must keep their values."""

    owner: Owner
    attributes: dict[str, Any]
    """Name of an attribute -> its original value, in the order of `vars(owner)`. Some attributes may be left out, see
    `Originals.remember`."""


class _OriginalItems(NamedTuple):
    """A dict that must keep its items."""

    name: str
    changeable: dict[Any, Any]
    """The dict itself, which code can change."""
    items: dict[Any, Any]
    """Its original items."""


class Originals:
    """The original attributes of modules and of the classes defined in them, and the originals of their functions.

    Create only one in a process: it installs an audit hook, which Python never removes.
    """

    def __init__(self) -> None:
        self._original_attributes: list[_OriginalAttributes] = []
        """One entry for each module and class that was remembered."""
        self._versions = DictVersions()
        """Tracks the attributes of the owners in `_original_attributes`, in the same order."""
        self._module_names: list[tuple[types.ModuleType, str]] = []
        """Pairs of a module and the name under which `sys.modules` must have it."""
        self._protected_functions = ProtectedFunctions()
        self._assignments = NotedAssignments(("__class__", "__bases__", "__name__", "__qualname__"))
        """Assignments to what is not in an owner's dict: what decides which attributes it has besides, and its names,
        by which the types of values are recorded."""
        for assignments in (self._protected_functions.assignments, self._assignments):
            sys.addaudithook(assignments.note)
        self._hook_dicts: dict[str, Any] = {}
        """Name in `_HOOK_DICT_NAMES` -> torch's dict, which is empty unless a submission left a hook in it."""
        self._copiers: list[_OriginalItems] = []
        """The dicts of `_COPIER_DICTS`."""
        self._dispatch_state = DispatchState()

    def remember_libraries(self) -> None:
        """Remember torch, numpy and the standard library, as far as scenarios rely on them, and `grader.observe`.

        Call it after an optimizer was created for the first time, because torch then wraps some of its own functions.
        """
        self.remember(importlib.import_module(name) for name in _FULLY_REMEMBERED)
        self.remember(_imported_modules(_FULLY_REMEMBERED_PREFIXES))
        self.remember(
            [
                *(importlib.import_module(name) for name in _CALLABLES_REMEMBERED),
                *_imported_modules(_CALLABLES_REMEMBERED_PREFIXES),
            ],
            skip_data=True,
        )
        for module in (sys.modules["torch.nn.modules.module"], sys.modules["torch.optim.optimizer"]):
            self._hook_dicts |= {
                name: value for name, value in vars(module).items() if name in _HOOK_DICT_NAMES
            }
        for module_name, name in _COPIER_DICTS:
            copiers = vars(importlib.import_module(module_name))[name]
            self._copiers.append(_OriginalItems(f"{module_name}.{name}", copiers, dict(copiers)))

    def remember(self, modules: Iterable[types.ModuleType], *, skip_data: bool = False) -> None:
        """Remember the attributes of these modules and of the classes defined in them.

        Also remember the modules' entries in `sys.modules`, and protect the functions among the attributes. Before
        that, wrap the `step` of optimizers' classes (see `_wrap_step`).

        Args:
            modules: each is followed by the classes defined in it.
            skip_data: of a module's attributes, leave out those that are neither callable nor a module, because the
                module changes them itself. Of a class, remember all attributes anyway.
        """
        for owner in _owners(modules):
            _wrap_step(owner)
            # Not stand-ins: they may change into the real compiler. `compiler_stand_in.restore` restores them.
            attributes = {
                name: value for name, value in vars(owner).items() if not isinstance(value, StandIn)
            }
            if skip_data and isinstance(owner, types.ModuleType):
                attributes = {
                    name: value for name, value in attributes.items() if _is_callable_or_module(value)
                }
            self._original_attributes.append(_OriginalAttributes(owner, attributes))
            self._versions.track(vars(owner))
            self._assignments.watch(owner)
            # The grader's own modules have no entry in `sys.modules` to restore: `hidden_modules` removes it.
            if isinstance(owner, types.ModuleType) and not owner.__name__.startswith("grader."):
                self._module_names.append((owner, owner.__name__))
            for value in attributes.values():
                self._protected_functions.protect(value)

    def restore(self) -> list[str]:
        """Restore what was changed since the last call, and return the names of what was changed, each once.

        New attributes of a class are removed and named too. New attributes of a module stay, and are not named.

        What is let go here may change something again while it is deleted. So everything is looked at again until
        nothing is found changed.

        Raises:
            RuntimeError: something is still found changed after `_MAX_PASSES` times.
        """
        changed: list[str] = []
        for _ in range(_MAX_PASSES):
            found = self._restore_once()
            if not found:
                return list(dict.fromkeys(changed))
            changed += found
        raise RuntimeError(
            f"되돌릴 때마다 되풀이해서 바뀌는 것이 있어요: {', '.join(f'`{name}`' for name in found)}. "
            "라이브러리의 함수와 클래스는 그대로 두고 쓰세요."
        )

    def _is_remembered(self, value: Any) -> bool:
        """Return True if a value is one of the modules and classes whose attributes are remembered."""
        return any(value is one.owner for one in self._original_attributes)

    def _restore_once(self) -> list[str]:
        """Restore what is found changed, and return its names."""
        # First, because a module's class decides what all that follows reads of it.
        changed = [owner.__name__ for owner in self._assignments.undo()]
        for position, version in self._versions.written():
            restored = _restore_attributes(*self._original_attributes[position])
            changed += restored
            # Accepted is the version before the look, so that what is written meanwhile, by a thread or by what was
            # let go, is looked at in its turn.
            if not restored:
                self._versions.accept(position, version)
        for module, name in self._module_names:
            if sys.modules.get(name) is not module:
                changed.append(name)
                sys.modules[name] = module
        for name, hooks in self._hook_dicts.items():
            if hooks:
                changed.append(name)
                hooks.clear()
        for name, changeable, items in self._copiers:
            # By identity: a key that a submission added may have a hash of its own, which would run here.
            present, original = (
                {id(key): value for key, value in one.items()} for one in (changeable, items)
            )
            if any(present.get(key) is not value for key, value in original.items()):
                changed.append(name)
                changeable.update(items)
            # A library that is imported now may add an item for a class of its own; nobody may for one of torch.
            for key in [key for key in changeable if id(key) not in original and self._is_remembered(key)]:
                changed.append(name)
                del changeable[key]
        return [
            *changed,
            *self._dispatch_state.restore(),
            *compiler_stand_in.restore(),
            *self._protected_functions.restore(),
        ]


def _restore_attributes(owner: Owner, original: dict[str, Any]) -> list[str]:
    """Restore the original attributes of one module or class, and remove new ones of a class.

    Returns:
        The names of the restored and removed attributes, each after its owner's name: `Linear.forward`.
    """
    current = vars(owner)
    # Usually nothing has changed, which comparing position by position finds out quickly. Names must be compared too:
    # if `a` and `b` were deleted, then `b` set to the old `a`, and `a` to the old `b`, only the names changed places.
    is_unchanged = (
        len(current) == len(original)
        and all(map(is_, current, original))
        and all(map(is_, current.values(), original.values()))
    )
    if is_unchanged:
        return []
    changed: list[str] = []
    for name, value in original.items():
        if name not in _IGNORED_ATTRIBUTES and (name not in current or current[name] is not value):
            setattr(owner, name, value)
            changed.append(name)
    # A new attribute of a class may hide an inherited one. New ones of modules are allowed, because importing a
    # submodule sets one in its package.
    if isinstance(owner, type):
        for name in sorted(set(current) - set(original) - _IGNORED_ATTRIBUTES):
            delattr(owner, name)
            changed.append(name)
    return [f"{owner.__name__}.{name}" for name in changed]


def _imported_modules(prefixes: tuple[str, ...]) -> list[types.ModuleType]:
    """Return the imported modules whose names begin with one of `prefixes`."""
    return [module for name, module in list(sys.modules.items()) if name.startswith(prefixes)]


def _is_callable_or_module(value: Any) -> bool:
    """Return True for a function, a class, any other callable, or a module."""
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
    """If `owner` is an optimizer's class, wrap its `step` as torch does when it creates the first instance.

    If torch did this later, while a submission runs, the wrapped `step` would look like one that the submission put
    there.
    """
    from torch.optim import Optimizer

    if isinstance(owner, type) and issubclass(owner, Optimizer) and not getattr(owner.step, "hooked", False):
        with suppress(AttributeError):  # other versions of torch have no `profile_hook_step`
            cls: Any = owner
            cls.step = Optimizer.profile_hook_step(cls.step)
            cls.step.hooked = True
