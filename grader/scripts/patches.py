"""Put observers around functions of torch and take them off again: one table says which.

PyTorch's own global hooks come first (`Hooks`); what has no hook is replaced by a wrapper that calls a handler with the
original. A wrapper that outlives the watch (a script imported it by name) passes everything on.
"""

import contextlib
import functools
import inspect
import os
import threading
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import torch
from torch.jit._builtins import _get_builtin_table
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


class Original:
    """A function of torch, called once by its handler; keeps what came of it."""

    __slots__ = ("called", "error", "function", "value")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.called = False
        self.value: Any = None
        self.error: BaseException | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        self.called = True
        try:
            self.value = self.function(*args, **kwargs)
        except BaseException as error:
            self.error = error
            raise
        return self.value

    @property
    def name(self) -> str:
        """Return the function's name."""
        return str(self.function.__name__)

    @property
    def package(self) -> str:
        """Return the name of the package that it belongs to."""
        return str(getattr(self.function, "__module__", "") or "random").partition(".")[0]


Handler = Callable[[Original, tuple[Any, ...], dict[str, Any]], Any]

_LOSSES = (
    *("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
)
_SQUASHING = ("softmax", "log_softmax", "sigmoid")
_SCHEDULERS = (
    *("LRScheduler", "ReduceLROnPlateau", "SequentialLR", "ChainedScheduler"),
    *("CosineAnnealingWarmRestarts",),
)
_DRAWING = ("rand", "randn", "randint", "bernoulli", "normal")
_KEEPING = (*_SCHEDULERS, "LambdaLR", "MultiplicativeLR", "CyclicLR")
"""Schedulers that may have methods of their own for their state."""
_DROPPING = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
_HOOKS = ("forward_hook", "forward_pre_hook", "full_backward_hook", "full_backward_pre_hook")
_SCALER = ("scale", "unscale_", "step", "update")

TABLE: tuple[tuple[str, str, str], ...] = (
    ("torch.autograd", "backward", "backward"),
    ("torch.autograd", "grad", "gradient_taken"),
    ("torch.optim.optimizer:Optimizer", "__init__", "optimizer_built"),
    ("torch.optim.optimizer:Optimizer", "zero_grad", "optimizer_cleared"),
    ("torch.optim.optimizer:Optimizer", "add_param_group", "group_added"),
    ("torch.optim.optimizer:Optimizer", "state_dict", "state_taken"),
    ("torch.optim.optimizer:Optimizer", "load_state_dict", "state_loaded"),
    ("torch.nn:Module", "__init__", "module_built"),
    ("torch.nn:Module", "zero_grad", "module_cleared"),
    ("torch.nn:Module", "train", "mode_set"),
    ("torch.nn:Module", "state_dict", "state_taken"),
    ("torch.nn:Module", "load_state_dict", "state_loaded"),
    ("torch.nn.utils", "clip_grad_norm_", "clipped"),
    ("torch.nn.utils", "clip_grad_value_", "clipped"),
    ("torch.nn.utils", "clip_grads_with_norm_", "clipped"),
    ("torch.nn.utils.clip_grad", "clip_grad_norm_", "clipped"),
    ("torch.nn.utils.clip_grad", "clip_grad_value_", "clipped"),
    ("torch.amp.autocast_mode:autocast", "__enter__", "autocast_entered"),
    ("torch.amp.grad_scaler:GradScaler", "__init__", "scaler_built"),
    *(("torch.amp.grad_scaler:GradScaler", name, f"scaler_{name.rstrip('_')}") for name in _SCALER),
    *((f"torch.optim.lr_scheduler:{name}", "step", "scheduled") for name in _SCHEDULERS),
    *((f"torch.optim.lr_scheduler:{name}", "__init__", "scheduler_built") for name in _SCHEDULERS),
    *((f"torch.optim.lr_scheduler:{name}", "state_dict", "state_taken") for name in _KEEPING),
    *((f"torch.optim.lr_scheduler:{name}", "load_state_dict", "state_loaded") for name in _KEEPING),
    *(("torch.nn.functional", name, "loss_computed") for name in _LOSSES),
    *(("torch.nn.functional", name, "dropped") for name in _DROPPING),
    ("torch.nn.functional", "kl_div", "divergence_computed"),
    ("torch.nn.functional", "scaled_dot_product_attention", "attended"),
    *(("torch", name, "drawn") for name in _DRAWING),
    ("torch", "compile", "compiled"),
    *(("torch", name, "squashed") for name in _SQUASHING),
    *(("torch:Tensor", name, "squashed") for name in _SQUASHING),
    *(("torch:Tensor", name, "flattened") for name in ("reshape", "view", "flatten", "ravel")),
    ("torch:Tensor", "item", "number_read"),
    ("torch:Tensor", "detach", "detached"),
    ("torch:Tensor", "data", "detached"),
    ("torch", "tensor", "wrapped"),
    ("torch:Tensor", "requires_grad_", "wrapped"),
    ("torch.utils.data:DataLoader", "__init__", "loader_built"),
    ("torch.utils.data:DataLoader", "__iter__", "loader_began"),
    ("torch.utils.data.dataloader:_BaseDataLoaderIter", "__next__", "batch_loaded"),
    ("torch", "manual_seed", "seeded"),
    ("torch.random", "manual_seed", "seeded"),
    ("numpy.random", "seed", "seeded"),
    ("random", "seed", "seeded"),
    ("torch", "save", "file_saved"),
    ("torch", "load", "file_loaded"),
    ("copy", "deepcopy", "copied"),
    ("torch.nn:Module", "requires_grad", "flag_set"),
    *(("torch.nn:Module", f"register_{name}", "hooked") for name in _HOOKS),
    *(("torch:Tensor", f"register_{name}", "hooked") for name in ("hook", "post_accumulate_grad_hook")),
)
"""Owner (a module, or module:class), attribute, and the handler that is called in its place.

What no release of torch has, an attribute that is often mistaken for one, is observed where it is assigned.
"""

LATE = frozenset(
    {
        *("state_loaded", "file_loaded", "scheduler_built", "scheduled", "flag_set", "went_on"),
        *("state_taken", "divergence_computed", "hooked", "optimizer_built", "module_built"),
    }
)
"""Handlers that go on after the watch: they are called seldom or cost little, and what they see needs no update."""

_WITHOUT_TENSORS = frozenset({"gradient_taken"})
"""Handlers that look at no tensor."""

_MISSING = object()
_MISTAKEN = ("requires_grad",)
"""Attributes that modules do not have."""


def _getter(attribute: types.GetSetDescriptorType) -> Callable[[Any], Any]:
    """Return a function that reads an attribute."""
    return attribute.__get__


class _Assigned:
    """An attribute of its instances as any other, but with a setter; no `property`, which torch.jit.script compiles."""

    def __init__(self, name: str, setter: Callable[[Any, Any], Any]) -> None:
        self._name = name
        self._setter = setter

    def __get__(self, thing: Any, kind: type | None = None) -> Any:
        try:
            return vars(thing)[self._name]
        except (KeyError, TypeError):
            raise AttributeError(self._name) from None

    def __set__(self, thing: Any, value: Any) -> None:
        self._setter(thing, value)

    def __delete__(self, thing: Any) -> None:
        del vars(thing)[self._name]


class Patches:
    """Everything that was put into torch for one watch."""

    def __init__(self, handlers: dict[str, Handler], hooks: dict[str, Callable[..., Any]]) -> None:
        self.failures: list[Exception] = []
        """Errors of observers, and of what is done with what they saw; the script never sees them."""
        self._handlers = handlers
        self._hooks = hooks
        self._replaced: list[tuple[Any, str, Any, str]] = []
        """Owner, attribute, what it held itself, and the handler."""
        self._removable: list[Any] = []
        self._late: Any = None
        """The hook before steps, put on when a state is taken or loaded, a flag set or a scheduler first seen."""
        self._active = False
        self._kept: frozenset[str] = frozenset()
        """Handlers that go on after the watch."""
        self._where = (0, 0)

    def put_on(self) -> None:
        """Install hooks and wrappers; they observe this thread of this process only."""
        with contextlib.suppress(ImportError):
            import_module(
                "torch._dynamo"
            )  # the first optimizer imports it, and it replaces functions of torch
        builtin = _get_builtin_table()  # torch.jit.script looks up functions by their ids
        self._where = os.getpid(), threading.get_ident()
        self._active = True
        for owner_name, name, handler in TABLE:
            module, _, kind = owner_name.partition(":")
            owner = import_module(module)
            owner = getattr(owner, kind) if kind else owner
            own = vars(owner).get(name, _MISSING)
            original = getattr(owner, name, None)
            has = original is not None and (own is not _MISSING or not kind or owner.__name__ == "Tensor")
            if has == (name in _MISTAKEN):
                continue  # a release without it, or a class that inherits it
            self._replaced.append((owner, name, own, handler))
            new = self._replacement(original, handler) if has else self._assigned(name, handler)
            if id(original) in builtin:
                builtin[id(new)] = builtin[id(original)]
            setattr(owner, name, new)
        self._removable = [
            register_optimizer_step_pre_hook(self._quiet(self._hooks["step_began"])),
            register_optimizer_step_post_hook(self._quiet(self._hooks["step_ended"])),
            register_module_forward_pre_hook(self._quiet(self._hooks["forward_began"])),
            register_module_forward_hook(
                self._quiet(self._hooks["forward_ended"]), with_kwargs=True, always_call=True
            ),
        ]

    @contextlib.contextmanager
    def surviving(self) -> Iterator[None]:
        """Keep an error of our own, and go on behind the block."""
        try:
            yield
        except Exception as error:
            self.failures.append(error)

    def hook_steps(self) -> None:
        """Observe the steps from now on, also after the watch: who trains what was loaded, frozen or is scheduled."""
        if self._late is None:
            hook = self._quiet(self._hooks["went_on"], "went_on")
            self._late = register_optimizer_step_pre_hook(hook)

    def take_off(self, keep: frozenset[str] = frozenset()) -> None:
        """Remove everything, in the opposite order; the wrappers that call handlers in `keep` stay."""
        self._active, self._kept = False, keep
        for handle in self._removable:
            handle.remove()
        if self._late is not None and "went_on" not in keep:
            self._late.remove()
            self._late = None
        kept = [one for one in self._replaced if one[3] in keep]
        for owner, name, own, handler in reversed(self._replaced):
            if handler in keep:
                continue
            if own is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
        self._removable, self._replaced = [], kept

    def _observed(self, handler: str = "") -> bool:
        here = self._where == (os.getpid(), threading.get_ident())
        if not here or not (self._active or handler in self._kept):
            return False
        # Tracing, and transforms of torch.func, run with tensors that are good for nothing outside of them.
        transforming = torch._C._functorch.peek_interpreter_stack() is not None
        return torch._C._get_tracing_state() is None and (not transforming or handler in _WITHOUT_TENSORS)

    def _replacement(self, original: Any, handler: str) -> Any:
        """Return what is put in the place of a function, or of an attribute that is computed."""
        if inspect.isgetsetdescriptor(original):
            return property(self._wrapper(_getter(original), handler), original.__set__)
        return self._wrapper(original, handler)

    def _assigned(self, name: str, handler: str) -> "_Assigned":
        def assign(thing: Any, value: Any) -> None:
            vars(thing)[name] = value

        return _Assigned(name, self._wrapper(assign, handler))

    def _wrapper(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        handler = self._handlers[name]

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if not self._observed(name):
                return function(*args, **kwargs)
            original = Original(function)
            try:
                return handler(original, args, kwargs)
            except Exception as error:
                if error is original.error:
                    raise
                self.failures.append(error)
                return original.value if original.called else function(*args, **kwargs)

        return wrapper

    def _quiet(self, hook: Callable[..., Any], name: str = "") -> Callable[..., None]:
        def called(*args: Any) -> None:
            if self._observed(name):
                with self.surviving():
                    hook(*args)

        return called
