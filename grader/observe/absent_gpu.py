"""On a machine without a GPU, take a program's requests for CUDA as requests for the CPU.

Nothing is translated until a request has failed, so a program that asks for none, or asks `torch.cuda.is_available()`
first, is played as if this module did not exist. Then the failed statement or scenario is played once more, with the
requests translated. `torch.cuda.is_available()` stays False, and a `torch.device("cuda")` stays one: only its use is
translated.

Requests are translated only while code of the program runs, not while the driver observes the result: a submission can
reach whatever sees its calls of torch's functions.
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
_NAME = re.compile(r"cuda(:\d+)?")
_OLD_TYPE = re.compile(r"torch\.cuda\.(\w+Tensor)")
"""Name of a type as `Tensor.type` takes it."""
_ANSWERS: dict[str, object] = {
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

_push, _pop = torch._C._push_on_torch_function_stack, torch._C._pop_torch_function_stack
_count: Callable[[], int] = torch._C._len_torch_function_stack
_to, _cuda, _pin = Tensor.to, Tensor.cuda, Tensor.pin_memory


@dataclass
class CudaRequests:
    """What a program asked of CUDA, and whether that is translated."""

    translated: bool = False
    """True from the first request that failed."""
    line: int | None = None
    """Line of the program that made it; None if no line of the program is known."""
    asked: bool = False
    """True once a request has been translated."""

    @property
    def note(self) -> str | None:
        """A Korean line for the learner, which names the first request; None if none was translated."""
        if not self.asked:
            return None
        return _NOTE if self.line is None else f"{self.line}번째 줄: {_NOTE}"

    def begin_after(self, failure: Failure) -> bool:
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
    def on_cpu(self) -> Iterator[None]:
        """Translate requests inside this context if a request has failed before, else do nothing."""
        if not self.translated:
            yield
            return
        mode, reader = _CudaAsCpu(self), (0, _no_tag, self._read_on_cpu)
        readers = torch.serialization._package_registry
        stand_ins = {name: self._answering(answer) for name, answer in _ANSWERS.items()}
        before = {name: getattr(torch.cuda, name) for name in stand_ins}
        vars(torch.cuda).update(stand_ins)
        readers.insert(0, reader)
        _push(mode)
        try:
            yield
        finally:
            _leave(mode)
            if reader in readers:
                readers.remove(reader)
            vars(torch.cuda).update(before)

    def _answering(self, answer: object) -> Callable[..., object]:
        """Return a function that takes anything and returns `answer`."""

        def stand_in(*_: object, **__: object) -> object:
            self.asked = True
            return answer

        return stand_in

    def _read_on_cpu(self, storage: Any, location: str) -> Any:
        """Leave a storage on the CPU that `torch.load` is about to move to CUDA; None for another place."""
        if not _NAME.fullmatch(location):
            return None
        self.asked = True
        return storage


def _no_tag(_: Any) -> None:
    """Name no place for a storage that is saved: torch's own functions do."""


def _leave(mode: "_CudaAsCpu") -> None:
    """Leave the mode if it is the innermost one.

    A mode that the program left on stays on: the sandbox reports it (`inside.dispatcher`).
    """
    if _count():
        innermost = _pop()
        if innermost is not mode:
            _push(innermost)


class _CudaAsCpu(TorchFunctionMode):
    """Put the CPU in the place of CUDA in the arguments of every torch function."""

    def __init__(self, requests: CudaRequests) -> None:
        self._requests = requests

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call `func` on the CPU; torch calls this in place of each of its functions."""
        kwargs = dict(kwargs or {})
        if func is _cuda or func is _pin:
            self._requests.asked = True
            return args[0]
        if func is _to and len(args) > 1 and type(args[1]) is int:
            args = (args[0], f"cuda:{args[1]}", *args[2:])
        if type(kwargs.get("device")) is int:
            kwargs["device"] = f"cuda:{kwargs['device']}"
        if kwargs.get("pin_memory"):
            self._requests.asked = True
            kwargs["pin_memory"] = False
        return func(*map(self._on_cpu, args), **{name: self._on_cpu(value) for name, value in kwargs.items()})

    def _on_cpu(self, value: Any) -> Any:
        """Return the CPU for CUDA, however it is named; any other value as it is."""
        replacement = value
        if type(value) is torch.device and value.type == "cuda":
            replacement = torch.device("cpu")
        elif type(value) is str and _NAME.fullmatch(value):
            replacement = "cpu"
        elif type(value) is str and (old := _OLD_TYPE.fullmatch(value)):
            replacement = f"torch.{old[1]}"
        self._requests.asked |= replacement is not value
        return replacement
