"""Keep torch's dispatcher as it was: it decides which code runs for an operator, below all functions and classes.

A kernel of the submission's own for `aten::any` would tell the recorder that no gradient is left, without any function
being replaced. So the server refuses new kernels for torch's operators before any submission runs. Modes and hooks
that see every operator may be entered; those that were not left are left in `leave_modes`.
"""

from collections.abc import Callable, Generator
from typing import Any

import torch

from grader.observe.wording import LEAVE_ORIGINALS

_OF_TORCH = ("aten", "_")
"""Namespaces in which nothing can be registered: torch's operators, and what all operators fall back to. Others stay
open, because torch's compiler and `custom_op` register there."""
_Registration = tuple[str, tuple[Any, ...], dict[str, Any]]


def refuse_kernels() -> None:
    """Refuse kernels for torch's operators in this process from now on, and any registration by existing libraries."""
    registrar = _registrar()
    next(registrar)
    for name in _registering_methods():
        setattr(torch._C._DispatchModule, name, _through(registrar, name))
    torch._C._dispatch_library = _through(registrar, "")


def _registering_methods() -> list[str]:
    """Return the names of the methods of torch's library objects that register something."""
    return [name for name in vars(torch._C._DispatchModule) if name[0] != "_" and name != "reset"]


def _through(registrar: Generator[Any, _Registration, None], name: str) -> Callable[..., Any]:
    """Return what stands for the method `name`, or for the function that makes a library if that is empty."""

    def register(*args: Any, **kwargs: Any) -> Any:
        result, error = registrar.send((name, args, kwargs))
        if error is not None:
            raise error
        return result

    return register


def _registrar() -> Generator[Any, _Registration, None]:
    """Register what may be registered.

    Only the frame of this generator holds torch's own functions: no attribute leads to them, and reaching for a frame
    is noticed (`reaching`).
    """
    make = torch._C._dispatch_library
    methods = {name: getattr(torch._C._DispatchModule, name) for name in _registering_methods()}
    made: list[Any] = []
    answer: tuple[Any, Exception | None] = (None, None)
    while True:
        name, args, kwargs = yield answer
        texts = [value for value in (*args, *kwargs.values()) if isinstance(value, str)]
        of_torch = any(text.partition("::")[0] in _OF_TORCH for text in texts)
        try:
            if of_torch or (name and not any(args[:1] == (library,) for library in made)):
                raise RuntimeError(f"{LEAVE_ORIGINALS} 연산자의 구현은 더하거나 바꿀 수 없어요.")
            answer = (methods[name] if name else make)(*args, **kwargs), None
        except Exception as error:
            answer = None, error
        if not name and answer[0] is not None:
            made.append(answer[0])


class Dispatching:
    """How operators are dispatched in this thread, as it was when this object was made."""

    def __init__(self) -> None:
        self._kept = _switched_keys()
        self._guards: list[Any] = []

    def leave_modes(self) -> list[str]:
        """Leave all modes and hooks that were entered and not left; return their names.

        Such a mode sees, and could change, every call of a torch function.
        """
        left = []
        while torch._C._len_torch_function_stack():
            left.append(type(torch._C._pop_torch_function_stack()).__name__)
        while torch._C._len_torch_dispatch_stack():
            left.append(type(torch._C._pop_torch_dispatch_stack(None)).__name__)
        while torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:
            torch._C._autograd._pop_saved_tensors_default_hooks()
            left.append("saved_tensors_hooks")
        if _switched_keys() != self._kept:
            left += self._switch_back()
        return left

    def _switch_back(self) -> list[str]:
        """Switch every dispatch key on or off as it was; return the names of those that were switched."""
        c: Any = torch._C
        included, excluded = (c.DispatchKeySet.from_raw_repr(raw) for raw in self._kept)
        switched = []
        for name, key in c.DispatchKey.__members__.items():
            for kept, is_on, switch in (
                (
                    included,
                    c._dispatch_tls_is_dispatch_key_included,
                    c._dispatch_tls_set_dispatch_key_included,
                ),
                (
                    excluded,
                    c._dispatch_tls_is_dispatch_key_excluded,
                    c._dispatch_tls_set_dispatch_key_excluded,
                ),
            ):
                if is_on(key) != kept.has(key):
                    switch(key, kept.has(key))
                    switched.append(name)
        # Otherwise a backward pass would switch the dispatcher in Python on again: it has a state beside its key.
        self._guards.append(c._DisablePythonDispatcher())
        self._guards[-1].__enter__()
        return switched


def _switched_keys() -> tuple[int, int]:
    """Return the dispatch keys switched on and off in this thread, as numbers to be compared."""
    c: Any = torch._C
    return c._dispatch_tls_local_include_set().raw_repr(), c._dispatch_tls_local_exclude_set().raw_repr()
