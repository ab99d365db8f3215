"""A pretended GPU for machines without one: `install()` gives this process a device `cuda:0` that computes on the CPU.

`FakeCuda` is a wrapper tensor on torch's device for foreign backends (PrivateUse1, here "fake"), for which torch has an
interface in Python from 2.10 on. In C++ it is `fake:0`, so that autograd runs its backward in a device thread, as for
CUDA; in Python it says `cuda:0`. It holds a CPU tensor.

As CUDA does it:
    tensors of both devices in one operation raise (not: 0-dim CPU tensors in pointwise operations, CPU indices,
    copies), and so do a generator of the other device and `.numpy()`;
    `torch.cuda.is_available` and its like; with CUDA_VISIBLE_DEVICES="" there is no GPU;
    random numbers of its own (with `share_random=True` the CPU's: then runs equal the CPU's to the bit);
    `.to`, factories, deepcopy, `torch.save`, `torch.load` with `map_location`;
    `foreach` and `fused` optimizers, `GradScaler`, autocast with the commonest operations of CUDA's lists;
    hooks of tensors run in another thread, and no backward in a forked child after one in its parent;
    `torch.cuda.get_rng_state` begins CUDA, and so does an Adam step (in torch 2.13); a forked child of a process that
    has begun it cannot use it.

Not emulated:
    CUDA's rounding, random numbers, kernels, TF32, streams, memory and its limits, pinning, `torch.compile`, autocast's
    cache, several GPUs, forward-mode AD (`torch.func.jvp`), inference tensors, operations that reshape in place, CPU
    operations given a CUDA generator.
"""

import contextlib
import copy
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.utils.clip_grad
import torch.utils._foreach_utils
from torch import library as torch_library
from torch.utils import backend_registration
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

CUDA, CPU, aten = torch.device("cuda:0"), torch.device("cpu"), torch.ops.aten

_MIXING = {aten.copy_.default, aten._to_copy.default, aten._copy_from.default}
"""Operations that take tensors of both devices."""
_INDEXING = {
    "aten::index",
    "aten::index_put",
    "aten::index_put_",
    "aten::_index_put_impl_",
    "aten::_unsafe_index",
}
# From CUDA's lists in torch's documentation of autocast ("CUDA Op-Specific Behavior").
_LOWER = """matmul addbmm addmm addmv addr baddbmm bmm chain_matmul mm mv linear linalg_multi_dot conv1d conv2d conv3d
conv_transpose1d conv_transpose2d conv_transpose3d prelu scaled_dot_product_attention _convolution"""
_FLOAT = """exp expm1 log log10 log1p log2 pow sum prod cumsum cumprod norm dist rsqrt reciprocal softmax log_softmax
layer_norm group_norm nll_loss nll_loss2d mse_loss l1_loss smooth_l1_loss huber_loss kl_div softplus cross_entropy_loss
cosine_similarity cosine_embedding_loss binary_cross_entropy_with_logits logsumexp"""


def missing() -> str:
    """What this torch lacks for it; empty where nothing is missing."""
    if hasattr(backend_registration, "_setup_privateuseone_for_python_backend"):
        return ""
    return f"torch {torch.__version__} has no Python interface for foreign devices (from 2.10 on)"


def code_that_installs() -> str:
    """Python code that installs the device in another process, one without this folder, before anything else."""
    text = Path(__file__).read_text(encoding="utf-8")
    return f"exec(compile({text!r}, 'fake_device', 'exec')); install(share_random=True); "


def _device(device: Any) -> torch.device:
    device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    return CUDA if device.type in ("cuda", "fake") else device


# ---- generators ----------------------------------------------------------------------------------

_RealGenerator = torch._C.Generator
_gpu_generators: set[int] = set()


class _AnyGenerator(type(_RealGenerator)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _RealGenerator)


class Generator(_RealGenerator, metaclass=_AnyGenerator):
    """`torch.Generator`, which may be the GPU's."""

    def __new__(cls, device: Any = "cpu") -> "Generator":
        made = super().__new__(cls, device="cpu")
        (_gpu_generators.add if _device(device) == CUDA else _gpu_generators.discard)(made._cdata)
        return made

    @property
    def device(self) -> torch.device:
        return CUDA if self._cdata in _gpu_generators else CPU


class State:
    """What the pretended GPU remembers."""

    random = Generator("cuda")
    own_random = True
    begun = False
    """Whether the process has begun to use CUDA."""
    in_bad_fork = False
    """Whether this process was forked from one that had begun to."""
    map_location: torch.device | None = None
    """Of the `torch.load` that is going on."""


def _begin() -> None:
    if State.in_bad_fork:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess.")
    State.begun = True


def _note_a_fork() -> None:
    State.in_bad_fork = State.in_bad_fork or State.begun


@contextlib.contextmanager
def _random_of_the_gpu() -> Iterator[None]:
    cpu = torch.default_generator.get_state()
    torch.default_generator.set_state(State.random.get_state())
    yield
    State.random.set_state(torch.default_generator.get_state())
    torch.default_generator.set_state(cpu)


# ---- tensors and operations ----------------------------------------------------------------------


class FakeCuda(torch.Tensor):
    """A tensor on the pretended GPU; `raw` holds its numbers."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    raw: torch.Tensor

    @staticmethod
    def __new__(cls, raw: torch.Tensor) -> "FakeCuda":
        _begin()
        layout = raw.shape, raw.stride(), raw.storage_offset()
        made = torch.Tensor._make_wrapper_subclass(cls, *layout, dtype=raw.dtype, device="fake:0")
        made.raw = raw
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        inference = torch.is_inference_mode_enabled()
        with torch.inference_mode(False) if inference else contextlib.nullcontext():
            return _run(func, args, kwargs or {})

    @property
    def device(self) -> torch.device:
        return CUDA

    @property
    def is_cuda(self) -> bool:
        return True

    @property
    def data(self) -> torch.Tensor:
        return torch.Tensor.data.__get__(self)

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        torch.Tensor.data.__set__(self, value)  # raises for a CPU tensor
        self.raw = value.raw

    def data_ptr(self) -> int:
        return self.raw.data_ptr()

    def get_device(self) -> int:
        return 0

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        if not force:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")
        return self.detach().cpu().numpy()

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.numpy()

    def __format__(self, spec: str) -> str:
        return format(self.item() if self.dim() == 0 else repr(self), spec)

    def __repr__(self, **_: Any) -> str:
        return repr(self.raw)[:-1] + ", device='cuda:0')"

    def __deepcopy__(self, memo: dict[int, Any]) -> "FakeCuda":
        if id(self) not in memo:
            memo[id(self)] = made = FakeCuda(self.raw.clone()).requires_grad_(self.requires_grad)
            made.__dict__.update((k, copy.deepcopy(v, memo)) for k, v in self.__dict__.items() if k != "raw")
            made.grad = copy.deepcopy(self.grad, memo)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (self.raw, self.requires_grad, getattr(self, "_is_param", False))


def _rebuilt(raw: torch.Tensor, requires_grad: bool, is_param: bool) -> torch.Tensor:
    value = raw if State.map_location == CPU else FakeCuda(raw)
    return torch.nn.Parameter(value, requires_grad) if is_param else value.requires_grad_(requires_grad)


def _run(func: Any, args: Any, kwargs: dict[str, Any], *, factory: bool = False) -> Any:
    """Do an operation on the CPU, where CUDA would do it; what it returns is on the GPU."""
    flat, spec = tree_flatten((args, kwargs))
    here = [value for value in flat if isinstance(value, FakeCuda)]
    if here and func not in _MIXING:
        _refuse_other_devices(func, args, flat)
    if torch.Tag.inplace_view in func.tags:
        raise NotImplementedError(f"fake_device cannot do {func}")
    wanted = kwargs.get("device")
    target = (CUDA if here or factory else CPU) if wanted is None else _device(wanted)
    for value in flat:
        if isinstance(value, _RealGenerator) and (value._cdata in _gpu_generators) != (target == CUDA):
            raise RuntimeError(f"Expected a '{target.type}' device type for generator")
    args_, kwargs_ = tree_unflatten([_on_cpu(value) for value in flat], spec)
    kwargs_.pop("pin_memory", None)
    if func is aten._copy_from.default:
        args_[1].copy_(args_[0])
        return args[1]
    seeded = torch.Tag.nondeterministic_seeded in func.tags and kwargs_.get("generator") is None
    with _random_of_the_gpu() if seeded and State.own_random and target == CUDA else contextlib.nullcontext():
        result = func(*args_, **kwargs_)
    if target != CUDA:
        return result
    for schema, value in zip(func._schema.arguments, args, strict=False):
        # Of a list, torch's own kernels for foreign devices do not tell autograd that it was written to.
        if isinstance(value, (list, tuple)) and schema.alias_info is not None and schema.alias_info.is_write:
            torch.autograd.graph.increment_version([one for one in value if isinstance(one, FakeCuda)])
    known = {id(value.raw): value for value in here}

    def placed(value: torch.Tensor) -> FakeCuda:
        own = known.get(id(value))  # an operation in place returns its argument
        return FakeCuda(value) if own is None else own

    return tree_map_only(torch.Tensor, placed, result)


def _refuse_other_devices(func: Any, args: Any, flat: list[Any]) -> None:
    name = func._schema.name
    pointwise = torch.Tag.pointwise in func.tags and not name.startswith("aten::_foreach")
    for value in flat:
        if isinstance(value, torch.Tensor) and not isinstance(value, FakeCuda):
            scalar = value.dim() == 0 and pointwise and not (name.endswith("_") and value is args[0])
            index = name in _INDEXING and isinstance(args[0], FakeCuda) and not value.is_floating_point()
            if not scalar and not index:
                raise RuntimeError("Expected all tensors to be on the same device, but found cuda:0 and cpu!")


def _on_cpu(value: Any) -> Any:
    if isinstance(value, FakeCuda):
        return value.raw
    return CPU if isinstance(value, torch.device) and _device(value) == CUDA else value


def _factories() -> Iterator[tuple[str, Any]]:
    """Every operation with a `device` and no tensor among its arguments."""
    unknown = ("sparse", "quantized", "nested", "from_file")
    for name in torch._C._dispatch_get_all_op_names():
        base, _, overload = name.removeprefix("aten::").partition(".")
        if name.startswith("aten::") and not any(word in base for word in unknown):
            with contextlib.suppress(AttributeError, RuntimeError):
                op = getattr(getattr(aten, base), overload or "default")
                kinds = {argument.name: str(argument.type) for argument in op._schema.arguments}
                if "device" in kinds and not any("Tensor" in kind for kind in kinds.values()):
                    yield name, op


def _in_autocast(op: Any, dtype: Callable[[], torch.dtype]) -> Callable[..., Any]:
    def cast(value: torch.Tensor) -> torch.Tensor:
        low = value.is_floating_point() and value.dtype != torch.float64
        return value.to(dtype()) if low else value

    def kernel(*args: Any, **kwargs: Any) -> Any:
        without = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)
        with torch._C._ExcludeDispatchKeyGuard(without):
            return op(*tree_map_only(FakeCuda, cast, args), **tree_map_only(FakeCuda, cast, kwargs))

    return kernel


# ---- what Python code calls --------------------------------------------------------------------------


class _Cuda:
    """What `torch.cuda` has instead of its own."""

    default_generators = (State.random,)

    @staticmethod
    def is_available(*_: Any, **__: Any) -> bool:
        return True

    is_bf16_supported = is_available

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def is_initialized() -> bool:
        return State.begun

    @staticmethod
    def init() -> None:
        _begin()

    _lazy_init = init

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def _is_in_bad_fork() -> bool:
        return State.in_bad_fork

    @staticmethod
    def _nothing(*_: Any) -> None:
        return None

    set_device = synchronize = empty_cache = reset_peak_memory_stats = _nothing

    @staticmethod
    def _no_bytes(*_: Any) -> int:
        return 0

    memory_allocated = max_memory_allocated = _no_bytes

    @staticmethod
    def get_device_name(*_: Any) -> str:
        return "pretended"

    @staticmethod
    def get_device_capability(*_: Any) -> tuple[int, int]:
        return 9, 0

    @staticmethod
    def manual_seed(seed: int) -> None:
        State.random.manual_seed(int(seed))

    manual_seed_all = manual_seed

    @staticmethod
    def seed() -> None:
        State.random.seed()

    @staticmethod
    def initial_seed() -> int:
        return State.random.initial_seed()

    @staticmethod
    def get_rng_state(*_: Any) -> torch.Tensor:
        _begin()
        return State.random.get_state()

    @staticmethod
    def get_rng_state_all() -> list[torch.Tensor]:
        return [_Cuda.get_rng_state()]

    @staticmethod
    def set_rng_state(state: torch.Tensor, *_: Any) -> None:
        if isinstance(state, FakeCuda):
            raise TypeError("RNG state must be a torch.ByteTensor")
        State.random.set_state(state)

    @staticmethod
    def set_rng_state_all(states: list[torch.Tensor]) -> None:
        _Cuda.set_rng_state(*states)


def _placing(real: Callable[..., Any]) -> Callable[..., Any]:
    """What C++ cannot send to "cuda", sent to "fake"."""

    def here(value: Any) -> Any:
        return "fake:0" if value is not None and _device(value) == CUDA else value

    def placing(*args: Any, **kwargs: Any) -> Any:
        given = [
            here(value) if number == 1 and isinstance(value, (str, int, torch.device)) else value
            for number, value in enumerate(args)
        ]
        return real(*given, **{key: here(v) if key == "device" else v for key, v in kwargs.items()})

    return placing


def _loading(real: Callable[..., Any]) -> Callable[..., Any]:
    def load(f: Any, map_location: Any = None, **kwargs: Any) -> Any:
        where = map_location.get("cuda:0") if isinstance(map_location, dict) else map_location
        State.map_location = CPU if callable(where) else where if where is None else _device(where)
        to_gpu = State.map_location == CUDA
        found = real(f, map_location=None if to_gpu else State.map_location, **kwargs)

        def moved(value: torch.Tensor) -> torch.Tensor:
            return value if isinstance(value, FakeCuda) else FakeCuda(value.detach())

        return tree_map_only(torch.Tensor, moved, found) if to_gpu else found

    return load


def _applying(real: Callable[..., Any]) -> Callable[..., Any]:
    """`nn.Module._apply`: parameters stay the same objects, as with CUDA, and keep their hooks."""

    def apply(self: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
        parameters = [p for p in self._parameters.values() if p is not None]
        hooks = [(p, p._backward_hooks, p._post_accumulate_grad_hooks) for p in parameters]
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            return real(self, *args, **kwargs)
        finally:
            torch.__future__.set_swap_module_params_on_conversion(False)
            for p, backward, accumulated in hooks:
                if backward is not None:
                    p._backward_hooks = backward
                if accumulated is not None:
                    p._post_accumulate_grad_hooks = accumulated

    return apply


def install(*, share_random: bool = False) -> None:
    """Let this process have the device `cuda:0`; to be called once, before its first backward.

    Nothing is installed where CUDA_VISIBLE_DEVICES hides every GPU.
    """
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return
    State.own_random = not share_random
    os.register_at_fork(after_in_child=_note_a_fork)
    backend_registration._setup_privateuseone_for_python_backend("fake", backend_module=_Cuda)
    _install_operations()
    for name in (name for name in vars(_Cuda) if not name.startswith("__")):
        value = getattr(_Cuda, name)
        # TorchDynamo wants one function for each name.
        setattr(torch.cuda, name, partial(value) if callable(value) else value)
    _install_for_optimizers()
    to = torch.Tensor.to = _placing(torch.Tensor.to)  # type: ignore[method-assign]
    torch.Tensor.cuda = lambda self, device=None, non_blocking=False: to(  # type: ignore[method-assign]
        self, CUDA, non_blocking=non_blocking
    )
    torch.Tensor.pin_memory = lambda self, device=None: self.clone()  # type: ignore[method-assign]
    torch.tensor, torch.as_tensor = _placing(torch.tensor), _placing(torch.as_tensor)
    torch.accelerator.current_accelerator = lambda check_available=False: torch.device("cuda")
    torch.Generator = torch.random.Generator = Generator  # type: ignore[misc, assignment]
    torch.load = torch.serialization.load = _loading(torch.load)
    torch.serialization.add_safe_globals([_rebuilt])
    torch.nn.Module._apply = _applying(torch.nn.Module._apply)  # type: ignore[method-assign]


_libraries: list[torch_library.Library] = []
"""Kept: what a library registers goes with it."""


def _install_operations() -> None:
    library, others = torch_library.Library("aten", "IMPL"), torch_library.Library("_", "IMPL")
    _libraries.extend((library, others))
    with warnings.catch_warnings(action="ignore"):
        for name, op in _factories():
            for key in ("PrivateUse1", "CUDA"):
                library.impl(name, lambda *a, op=op, **k: _run(op, a, k, factory=True), key)
        for op in (aten._copy_from.default, aten.copy_.default):
            library.impl(op._schema.name, lambda *a, op=op, **k: _run(op, a, k), "PrivateUse1")
        others.fallback(torch_library.fallthrough_kernel, "AutocastPrivateUse1")
        for names, dtype in (
            (_LOWER, lambda: torch.get_autocast_dtype("cuda")),
            (_FLOAT, lambda: torch.float32),
        ):
            for packet in (getattr(aten, name) for name in names.split()):
                for overload in (o for o in packet.overloads() if "out" not in o and "dimname" not in o):
                    op = getattr(packet, overload)
                    library.impl(op.name(), _in_autocast(op, dtype), "AutocastPrivateUse1")
    enable = torch.set_autocast_enabled

    def set_autocast_enabled(kind: str, on: bool) -> None:
        enable(kind, on)
        if kind == "cuda":
            enable("fake", on)

    torch.set_autocast_enabled = set_autocast_enabled


def _install_for_optimizers() -> None:
    """`foreach` and `fused` ask for the device of their tensors in C++."""
    group = torch.utils._foreach_utils._group_tensors_by_device_and_dtype

    def grouped(*args: Any, **kwargs: Any) -> Any:
        found = group(*args, **kwargs).items()
        return {(d if d is None else _device(d), dtype): tensors for (d, dtype), tensors in found}

    optimizer: Any = sys.modules["torch.optim.optimizer"]  # `torch.optim` hides it
    for module in (torch.utils._foreach_utils, torch.nn.utils.clip_grad, optimizer):
        module._group_tensors_by_device_and_dtype = grouped
    optimizer._foreach_supported_types.append(FakeCuda)
