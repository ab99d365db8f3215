"""On a machine without a GPU, take a program's requests for CUDA as requests for the CPU.

Nothing is translated until a request has failed, so a program that asks for none, or asks `torch.cuda.is_available()`
first, is played as if this module did not exist. Then the failed statement or scenario is played once more, with the
requests translated. `torch.cuda.is_available()` stays False, and a `torch.device("cuda")` stays one: only its use is
translated.

Requests are translated only while code of the program runs: a submission could tamper with an object that intercepts
its calls, so none is active while results are observed.

Not translated: `torch.device(0)`, `torch.Generator(device="cuda")`, which no mode sees, and functions of `torch.cuda`
that a program imported by name before its first request failed.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

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


@dataclass
class CudaRequests:
    """What a program asked of CUDA, and whether that is translated."""

    translated: bool = False
    """True from the first request that failed."""
    line: int | None = None
    """Line of the program that made it; None if no line of the program is known, or if it only pinned memory."""
    asked: bool = False
    """True once a request has been translated; pinned memory does not count, because it is no other device."""

    @property
    def note(self) -> str | None:
        """A Korean line for the learner, which names the first request; None if none was translated."""
        if not self.asked:
            return None
        return _NOTE if self.line is None else f"{self.line}번째 줄: {_NOTE}"

    def translate_after(self, failure: Failure) -> bool:
        """Translate requests from now on if `failure` is the first one that comes from the lack of a GPU.

        Returns:
            True if what failed should be tried once more.
        """
        if (
            self.translated
            or failure.own
            or failure.type not in _RAISED_BY_TORCH
            or not _LACKS_GPU.search(failure.message)
            or torch.cuda.is_available()
        ):
            return False
        self.translated, self.line = True, failure.line
        return True

    @contextmanager
    def translating(self) -> Iterator[None]:
        """Translate requests inside this context if a request has failed before, else do nothing."""
        if not self.translated:
            yield
            return
        mode, reader = _CudaAsCpu(self), (0, _no_location, self._read_on_cpu)
        readers = torch.serialization._package_registry
        stand_ins = {name: self._answering(answer) for name, answer in _STUB_RESULTS.items()}
        before = {name: getattr(torch.cuda, name) for name in stand_ins}
        module_to = torch.nn.Module.to
        vars(torch.cuda).update(stand_ins)
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
            vars(torch.cuda).update(before)

    def _answering(self, answer: object) -> Callable[..., object]:
        """Return a function that takes anything and returns `answer`."""

        def stand_in(*_: object, **__: object) -> object:
            self.asked = True
            return answer

        return stand_in

    def _read_on_cpu(self, storage: Any, location: str) -> Any:
        """Return the storage as it is, on the CPU, if `torch.load` would move it to CUDA; None: let torch decide."""
        if not _CUDA_NAME.fullmatch(location):
            return None
        self.asked = True
        return storage


def _no_location(_: Any) -> None:
    """Return None: torch's own functions name the place of a storage that is saved."""


def _move_by_name(module: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
    """Move a module as `Module.to` does; a number names a CUDA device, which `Module.to` refuses without a GPU."""
    return _module_to(module, *map(_named, args), **{key: _named(value) for key, value in kwargs.items()})


def _named(device: Any) -> Any:
    """Return `cuda:0` for 0; anything but a number as it is."""
    return f"cuda:{device}" if type(device) is int else device


def _leave(mode: "_CudaAsCpu") -> None:
    """Leave the mode, also if the program left others on above it.

    Those stay on, in their order: the sandbox reports them (`inside.dispatcher`).
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
        if func is _cuda:
            self._requests.asked = True
            return args[0]
        if func is _pin or kwargs.get("pin_memory"):
            if not self._requests.asked:
                self._requests.line = None
            if func is _pin:
                return args[0]
            kwargs["pin_memory"] = False
        if func is _to and len(args) > 1:
            args = (args[0], _named(args[1]), *args[2:])
        if "device" in kwargs:
            kwargs["device"] = _named(kwargs["device"])
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
        self._requests.asked |= replacement is not value
        return replacement
