"""On a machine without a GPU, take a program's requests for CUDA as requests for the CPU.

Nothing is translated until a request has failed, so a program that asks for none, or asks `torch.cuda.is_available()`
first, is played as if this module did not exist. Then the failed statement or scenario is played once more, with the
requests translated. `torch.cuda.is_available()` stays False, and a `torch.device("cuda")` stays one: only its use is
translated.

Requests are translated only while code of the program runs: a submission could tamper with an object that intercepts
its calls, so none is active while results are observed.

A default device that the program sets is taken back at once, because the driver makes its own tensors, too. No failed
request is needed for that: setting the device alone does not fail.

Not translated: a function of `torch.cuda` that the program keeps elsewhere than under a global name.

Each `program.Program` has its `CudaRequests`: `program.py` asks it while the program is loaded, `recorder.py` while the
learner's function runs. To let another function of `torch.cuda` answer without a GPU, add it to `_STUB_RESULTS`.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import _device

from grader.observe.trace import Failure

_LACKS_GPU = re.compile(r"cuda|nvidia|accelerator", re.IGNORECASE)
"""Word in the message of every exception that torch raises because it finds no GPU."""
_RAISED_BY_TORCH = {"AssertionError", "AttributeError", "RuntimeError", "TypeError"}
"""Types of those exceptions; unlike a `KeyError` about a key called `cuda`."""
_CUDA_NAME = re.compile(r"cuda(:\d+)?")
"""Name of a CUDA device as torch takes it."""
_OLD_TYPE = re.compile(r"torch\.cuda\.(\w+Tensor)")
"""Name of a type as `Tensor.type` takes it."""
_STUB_RESULTS: dict[str, object] = {
    "current_device": 0,
    "get_device_name": "CPU",
    "init": None,
    "ipc_collect": None,
    "reset_peak_memory_stats": None,
    "set_device": None,
    "synchronize": None,
}
"""Function of `torch.cuda` that fails without a GPU -> what it returns instead."""
_NOTE = (
    "GPU(`cuda`)를 쓰는 줄이에요. 여기에는 GPU가 없어서 `cuda`를 `cpu`로 바꿔 채점했어요. "
    '장치를 `"cuda"`로 정해 두지 말고, 데이터나 모델이 있는 장치(`xb.device`)나 함수가 받은 `device`를 쓰면 '
    "어느 컴퓨터에서나 실행돼요."
)

# Private names, as torch's own `torch/overrides.py` uses them; tested with torch 2.13.
_push, _pop = torch._C._push_on_torch_function_stack, torch._C._pop_torch_function_stack
_modes_in_force: Callable[[], int] = torch._C._len_torch_function_stack
_to, _cuda, _pin = Tensor.to, Tensor.cuda, Tensor.pin_memory
_module_to = torch.nn.Module.to
_Device, _Generator = torch.device, torch.Generator
_set_default_device = torch.set_default_device


@dataclass
class CudaRequests:
    """What a program asked of CUDA, and whether that is translated."""

    are_translated: bool = False
    """True from the first request that failed: from then on, requests are translated."""
    line: int | None = None
    """Line of the program that made it; None if no line of the program is known, or if it only pinned memory."""
    was_translated: bool = False
    """True once a request has been translated; pinned memory does not count, because it is no other device."""

    @property
    def note(self) -> str | None:
        """A Korean line for the learner, which names the first request; None if none was translated."""
        if not self.was_translated:
            return None
        return _NOTE if self.line is None else f"{self.line}번째 줄: {_NOTE}"

    def translate_after(self, failure: Failure) -> bool:
        """Translate requests from now on if `failure` is the first one that comes from the lack of a GPU.

        Returns:
            True if what failed should be tried once more.
        """
        if (
            self.are_translated
            or failure.own
            or failure.type not in _RAISED_BY_TORCH
            or not _LACKS_GPU.search(failure.message)
            or torch.cuda.is_available()
        ):
            return False
        self.are_translated, self.line = True, failure.line
        return True

    @contextmanager
    def translating(self, names: Mapping[str, Any], line: int | None = None) -> Iterator[None]:
        """Translate requests inside this context if a request has failed before. Always restore the default device.

        Args:
            names: the program's global names, among which may be functions of `torch.cuda`.
            line: line of the program that runs, if it is one statement.
        """
        default = _default_device()
        try:
            if self.are_translated:
                with self._translating(names):
                    yield
            else:
                yield
        except BaseException:
            self._restore_default_device(default)
            raise
        if self._restore_default_device(default):
            if not self.are_translated:
                self.are_translated, self.line = True, line
            self.was_translated = True

    def _restore_default_device(self, default: "torch.device | None") -> bool:
        """Restore the default device; return True if the program had set it to CUDA, and there is no GPU."""
        now = _default_device()
        if now == default or torch.cuda.is_available():
            return False
        try:
            _set_default_device(default)
        except AssertionError:  # the program has left the mode that stands for the default device
            torch._GLOBAL_DEVICE_CONTEXT.device_context = None
        return now is not None and now.type == "cuda"

    @contextmanager
    def _translating(self, names: Mapping[str, Any]) -> Iterator[None]:
        """Translate requests inside this context."""
        # `torch.load` asks each reader in turn where to put a storage: (priority, name of its place, the reader).
        mode, reader = _CudaAsCpu(self), (0, _no_location, self._read_on_cpu)
        readers = torch.serialization._package_registry
        stand_ins = {name: self._stand_in_returning(result) for name, result in _STUB_RESULTS.items()}
        before = {name: getattr(torch.cuda, name) for name in stand_ins}
        module_to = torch.nn.Module.to
        generator_class = self._generator_class()
        pairs = [(torch.Generator, generator_class), *((before[name], stand_ins[name]) for name in before)]
        _exchange(names, pairs)
        vars(torch.cuda).update(stand_ins)
        torch.Generator = generator_class  # type: ignore[assignment,misc]
        torch.nn.Module.to = _move_by_name  # type: ignore[assignment,method-assign]
        readers.insert(0, reader)
        _push(mode)
        try:
            yield
        finally:
            _leave(mode)
            if reader in readers:
                readers.remove(reader)
            torch.nn.Module.to = module_to  # type: ignore[method-assign]
            torch.Generator = _Generator  # type: ignore[misc]
            vars(torch.cuda).update(before)
            _exchange(names, [(stand_in, own) for own, stand_in in pairs])

    def _generator_class(self) -> type:
        """Return a class to put in the place of `torch.Generator`. Calling it makes an object of torch's own class.

        It is needed because no torch function mode sees a call of `torch.Generator(device="cuda")`.
        """
        requests = self

        class GeneratorMeta(type):
            def __instancecheck__(cls, value: object) -> bool:
                return isinstance(value, _Generator)

        class Generator(metaclass=GeneratorMeta):
            def __new__(cls, device: Any = "cpu") -> Any:
                is_cuda = _Device(_device_name(device)).type == "cuda"
                requests.was_translated |= is_cuda
                return _Generator("cpu" if is_cuda else device)

        return Generator

    def _stand_in_returning(self, result: object) -> Callable[..., object]:
        """Return a function that takes anything and returns `result`."""

        def stand_in(*_: object, **__: object) -> object:
            self.was_translated = True
            return result

        return stand_in

    def _read_on_cpu(self, storage: Any, location: str) -> Any:
        """Return the storage as it is, on the CPU, if `torch.load` would move it to CUDA; None: let torch decide."""
        if not _CUDA_NAME.fullmatch(location):
            return None
        self.was_translated = True
        return storage


def _no_location(_: Any) -> None:
    """Return None, so that torch's own functions name the place of a storage that is saved."""


def _move_by_name(module: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
    """Move a module as `Module.to` does; a number names a CUDA device, which `Module.to` refuses without a GPU."""
    return _module_to(
        module, *map(_device_name, args), **{key: _device_name(value) for key, value in kwargs.items()}
    )


def _default_device() -> "torch.device | None":
    """Return the device that was set by `torch.set_default_device`; None if none was."""
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if context is None else context.device


def _exchange(names: Mapping[str, Any], pairs: list[tuple[object, object]]) -> None:
    """Replace the first object of each pair by the second wherever a global name has it as its value.

    For a function of a notebook, the global names are those of the kernel.
    """
    replacements = {id(old): new for old, new in pairs}
    # Only functions and classes: reading an attribute of another value could run code of the program.
    definitions = (value for value in names.values() if type(value) in (FunctionType, type))
    is_of_kernel = any(value.__module__ == "__main__" for value in definitions)
    for namespace in (names, *([vars(sys.modules["__main__"])] if is_of_kernel else [])):
        for name, value in list(namespace.items()):
            if id(value) in replacements:
                namespace[name] = replacements[id(value)]  # type: ignore[index]


def _device_name(device: Any) -> Any:
    """Return `cuda:0` for 0, as torch reads a number; anything but a number as it is."""
    return f"cuda:{device}" if type(device) is int else device


def _leave(mode: "_CudaAsCpu") -> None:
    """Leave the mode, also if the program has entered other modes and not left them.

    These stay on, in their order: the sandbox reports them (`sandbox.inside.dispatcher`).
    """
    above = []
    while _modes_in_force():
        innermost = _pop()
        if innermost is mode:
            break
        above.append(innermost)
    for other in reversed(above):
        _push(other)


class _CudaAsCpu(TorchFunctionMode):
    """Put the CPU in the place of CUDA in the arguments of every torch function."""

    def __init__(self, requests: CudaRequests) -> None:
        self._requests = requests

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call `func` on the CPU; torch calls this in place of each of its functions."""
        kwargs = dict(kwargs or {})
        if func is _Device:
            return func(*map(_device_name, args), **kwargs)
        if func is _cuda:
            self._requests.was_translated = True
            return args[0]
        if func is _pin or kwargs.get("pin_memory"):
            if not self._requests.was_translated:
                self._requests.line = None
            if func is _pin:
                return args[0]
            kwargs["pin_memory"] = False
        if func is _to and len(args) > 1:
            args = (args[0], _device_name(args[1]), *args[2:])
        if "device" in kwargs:
            kwargs["device"] = _device_name(kwargs["device"])
        if kwargs.get("device") is None and func in _device._device_constructors():
            kwargs["device"] = _device.CURRENT_DEVICE  # as torch would, after this function
        return func(*map(self._on_cpu, args), **{name: self._on_cpu(value) for name, value in kwargs.items()})

    def _on_cpu(self, value: Any) -> Any:
        """Return the CPU for CUDA, however it is named; any other value as it is."""
        replacement = value
        if type(value) is torch.device and value.type == "cuda":
            replacement = torch.device("cpu")
        elif type(value) is str and _CUDA_NAME.fullmatch(value):
            replacement = "cpu"
        elif type(value) is str and (old := _OLD_TYPE.fullmatch(value)):
            replacement = f"torch.{old[1]}"
        self._requests.was_translated |= replacement is not value
        return replacement
