"""Keep torch's dispatcher as it was: it decides which code runs for an operator, below all functions and classes.

A kernel of the submission's own for `aten::any` would tell the recorder that no gradient is left, without any function
being replaced. So the server refuses new kernels for torch's operators before any submission runs. Modes and hooks
that see every operator may be entered; those that were not left are left in `leave_modes`.
"""

import builtins
from collections.abc import Callable, Generator
from typing import Any

import torch

from grader.observe.wording import LEAVE_ORIGINALS

# Give this module its own copy of the builtins, made before any submission runs: a submission can replace `len` or
# `setattr` in the shared dict.
globals()["__builtins__"] = dict(vars(builtins))

# Torch's own functions, taken before a submission can put others in their places.
_c: Any = torch._C
_count_function_modes, _pop_function_mode = _c._len_torch_function_stack, _c._pop_torch_function_stack
_count_dispatch_modes, _pop_dispatch_mode = _c._len_torch_dispatch_stack, _c._pop_torch_dispatch_stack
_top_saved_tensors_hooks = _c._autograd._top_saved_tensors_default_hooks
_pop_saved_tensors_hooks = _c._autograd._pop_saved_tensors_default_hooks
_included_keys, _excluded_keys = _c._dispatch_tls_local_include_set, _c._dispatch_tls_local_exclude_set
_is_included, _set_included = (
    _c._dispatch_tls_is_dispatch_key_included,
    _c._dispatch_tls_set_dispatch_key_included,
)
_is_excluded, _set_excluded = (
    _c._dispatch_tls_is_dispatch_key_excluded,
    _c._dispatch_tls_set_dispatch_key_excluded,
)
_keys_of_number, _KEYS = _c.DispatchKeySet.from_raw_repr, dict(_c.DispatchKey.__members__)
_DisablePythonDispatcher = _c._DisablePythonDispatcher

_OF_TORCH = ("aten", "_")
"""Namespaces in which nothing can be registered: torch's operators (`aten`), and kernels that all operators fall back
to (`_`). Other namespaces stay open, because torch's compiler and `custom_op` register kernels there."""
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
    """Return a replacement for the method `name`, or, if `name` is empty, for the function that makes a library."""

    def register(*args: Any, **kwargs: Any) -> Any:
        result, error = registrar.send((name, args, kwargs))
        if error is not None:
            raise error
        return result

    return register


def _registrar() -> Generator[Any, _Registration, None]:
    """Receive calls that register a kernel or make a library; make those that are allowed, and send back the result.

    Only the frame of this generator holds torch's own functions: no attribute leads to them, and reaching for a frame
    is noticed (`reaching`).
    """
    make = torch._C._dispatch_library
    methods = {name: getattr(torch._C._DispatchModule, name) for name in _registering_methods()}
    made: list[Any] = []
    answer: tuple[Any, Exception | None] = (None, None)
    while True:
        name, args, kwargs = yield answer
        # C takes bytes and subclasses of str for a name, too; no honest call passes any.
        values = (*args, *kwargs.values())
        unread = any(
            isinstance(value, str | bytes | bytearray) and type(value) is not str for value in values
        )
        of_torch = any(type(text) is str and text.partition("::")[0] in _OF_TORCH for text in values)
        known = not name or any(args[0] is library for library in made if args)
        try:
            if unread or of_torch or not known:
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
        modes = []
        while _count_function_modes():
            modes.append(_pop_function_mode())
        while _count_dispatch_modes():
            modes.append(_pop_dispatch_mode(None))
        left = [_class_name(mode) for mode in modes]
        while _top_saved_tensors_hooks(True) is not None:
            _pop_saved_tensors_hooks()
            left.append("saved_tensors_hooks")
        if _switched_keys() != self._kept:
            left += self._switch_back()
        return left

    def _switch_back(self) -> list[str]:
        """Switch every dispatch key on or off as it was; return the names of those that were switched."""
        included, excluded = map(_keys_of_number, self._kept)
        switched = []
        for name, key in _KEYS.items():
            for kept, is_on, switch in (
                (included, _is_included, _set_included),
                (excluded, _is_excluded, _set_excluded),
            ):
                if is_on(key) != kept.has(key):
                    switch(key, kept.has(key))
                    switched.append(name)
        # The Python dispatcher has a state beside its key. Unless this guard switches that state off too, a backward
        # pass would switch the dispatcher on again.
        self._guards.append(_DisablePythonDispatcher())
        self._guards[-1].__enter__()
        return switched


def _class_name(value: object) -> str:
    """Return the name of the value's class without running code of its metaclass."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name


def _switched_keys() -> tuple[int, int]:
    """Return the dispatch keys switched on and off in this thread, as numbers to be compared."""
    return _included_keys().raw_repr(), _excluded_keys().raw_repr()
