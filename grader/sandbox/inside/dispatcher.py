"""Keep torch's dispatcher as it was before any submission ran.

The dispatcher is C++ code of torch. For each call of an operator, such as `aten::any`, it chooses a *kernel*, the code
that runs. A submission could change the dispatcher's choice without replacing any function or attribute that
`originals` compares. There are two guards against that:

- A submission could register a kernel of its own: one for `aten::any` could tell the recorder that no gradient is left.
  No right program needs this, so `refuse_new_kernels` *refuses* it for torch's operators, before any submission runs.
- It could enter a *mode* or a hook, which sees every call of an operator, or switch a *dispatch key* on or off, which
  decides between kernels. Right programs may do this too, so `DispatchState.restore` *undoes* it: what a submission did
  not undo itself when its exercise ends.

To guard something else of the dispatcher, decide first whether a right program may do it. If not, refuse it as
`refuse_new_kernels` does. If so, add a function like `_leave_modes`, which undoes it and names what it undid, and call
it in `DispatchState.restore`. It may use only functions of torch that are taken below, before a submission can replace
them. Then add a case to `tests/sandbox/test_dispatcher.py`, and an attack to `tests/attacks/`.
"""

import builtins
from collections.abc import Callable, Generator
from typing import Any

import torch

from grader.observe.wording import LEAVE_ORIGINALS

# Give this module its own copy of the builtins, made before any submission runs: a submission can replace `len` or
# `setattr` in the shared dict.
globals()["__builtins__"] = dict(vars(builtins))

# Torch's own functions, taken before a submission can replace them. Modes, hooks and keys are the current thread's.
_torch_c: Any = torch._C
# Modes that see calls of torch's Python functions, and modes that see calls of operators below them: two stacks.
_count_function_modes = _torch_c._len_torch_function_stack
_pop_function_mode = _torch_c._pop_torch_function_stack
_count_dispatch_modes = _torch_c._len_torch_dispatch_stack
_pop_dispatch_mode = _torch_c._pop_torch_dispatch_stack
# Hooks that see the tensors which autograd saves for the backward pass: a stack too.
_top_saved_tensors_hooks = _torch_c._autograd._top_saved_tensors_default_hooks
_pop_saved_tensors_hooks = _torch_c._autograd._pop_saved_tensors_default_hooks
# Dispatch keys: a thread includes some and excludes others, whatever the tensors of a call say.
_included_keys = _torch_c._dispatch_tls_local_include_set
_excluded_keys = _torch_c._dispatch_tls_local_exclude_set
_is_included = _torch_c._dispatch_tls_is_dispatch_key_included
_set_included = _torch_c._dispatch_tls_set_dispatch_key_included
_is_excluded = _torch_c._dispatch_tls_is_dispatch_key_excluded
_set_excluded = _torch_c._dispatch_tls_set_dispatch_key_excluded
_key_set_of_number = _torch_c.DispatchKeySet.from_raw_repr
_KEYS = dict(_torch_c.DispatchKey.__members__)
"""Name of a dispatch key -> the key."""
_DisablePythonDispatcher = _torch_c._DisablePythonDispatcher

_TORCH_NAMESPACES = ("aten", "_")
"""Namespaces in which no kernel can be registered: that of torch's operators (`aten`), and that of kernels to which all
operators fall back (`_`). Others stay open, because torch's compiler and `custom_op` register kernels there."""
_MAKE_LIBRARY = "<make library>"
"""Takes the place of a method's name in a `_RegistrarCall` that makes a library. No method has this name."""
_RegistrarCall = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A call that the registrar is asked to make: the name of a method of torch's library objects, or `_MAKE_LIBRARY`, and
the arguments; for a method, the library object is the first one."""


def refuse_new_kernels() -> None:
    """Refuse new kernels for torch's operators in this process from now on.

    A library is torch's object that registers kernels in one namespace. Libraries that exist already may register
    nothing more; new ones may, in namespaces other than torch's.
    """
    registrar = _kernel_registrar()
    next(registrar)  # run it to its first `yield`, where it waits for a call
    for name in _registering_methods():
        setattr(torch._C._DispatchModule, name, _forward_to(registrar, name))
    torch._C._dispatch_library = _forward_to(registrar, _MAKE_LIBRARY)


def _registering_methods() -> list[str]:
    """Return the names of the methods by which torch's libraries register something: all public ones but `reset`."""
    return [name for name in vars(torch._C._DispatchModule) if name[0] != "_" and name != "reset"]


def _forward_to(registrar: Generator[Any, _RegistrarCall, None], name: str) -> Callable[..., Any]:
    """Return a function that has the registrar make the call of the method `name`, or make a library."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        result, error = registrar.send((name, args, kwargs))
        if error is not None:
            raise error
        return result

    return forward


def _kernel_registrar() -> Generator[Any, _RegistrarCall, None]:
    """Make the calls that are sent to this generator, if they are allowed, and yield their results or exceptions.

    This is a generator because only its frame then holds torch's own functions. No attribute leads to them, and looking
    at a frame is reported as a suspicious act.
    """
    make_library = torch._C._dispatch_library
    methods = {name: getattr(torch._C._DispatchModule, name) for name in _registering_methods()}
    libraries: list[Any] = []  # those made here; others may belong to torch
    # Local copies, because a submission can set this module's globals.
    make_library_name, closed_namespaces = _MAKE_LIBRARY, _TORCH_NAMESPACES
    answer: tuple[Any, Exception | None] = (None, None)
    while True:
        name, args, kwargs = yield answer
        values = (*args, *kwargs.values())
        # C takes bytes and subclasses of str as names too. The `==` of such an object may lie about its text, and no
        # honest call passes one.
        has_disguised_name = any(
            isinstance(value, str | bytes | bytearray) and type(value) is not str for value in values
        )
        names_torch = any(
            type(value) is str and value.partition("::")[0] in closed_namespaces for value in values
        )
        is_ours_or_new = name == make_library_name or any(args[0] is library for library in libraries if args)
        try:
            if has_disguised_name or names_torch or not is_ours_or_new:
                raise RuntimeError(f"{LEAVE_ORIGINALS} 연산자의 구현은 더하거나 바꿀 수 없어요.")
            call = make_library if name == make_library_name else methods[name]
            answer = call(*args, **kwargs), None
        except Exception as error:
            # A KeyboardInterrupt is not caught: it ends the generator, and then nothing can be registered any more.
            answer = None, error
        if name == make_library_name and answer[0] is not None:
            libraries.append(answer[0])


class DispatchState:
    """Remembers how operators are dispatched in this thread, and restores that."""

    def __init__(self) -> None:
        """Remember the current dispatch keys. Make this object while no mode or hook is entered."""
        self._original_keys = _current_keys()
        self._guards: list[Any] = []
        """Guards that `_restore_keys` entered. They stay entered: leaving one would undo its effect."""

    def restore(self) -> list[str]:
        """Leave all modes and hooks, and restore the dispatch keys; return the names of what had to be undone."""
        return [*_leave_modes(), *_leave_saved_tensors_hooks(), *self._restore_keys()]

    def _restore_keys(self) -> list[str]:
        """Include and exclude every dispatch key as it was; return the names of those that were changed."""
        if _current_keys() == self._original_keys:
            return []
        included, excluded = map(_key_set_of_number, self._original_keys)
        switched = []
        for name, key in _KEYS.items():
            for original, is_in_set, set_in_set in (
                (included, _is_included, _set_included),
                (excluded, _is_excluded, _set_excluded),
            ):
                if is_in_set(key) != original.has(key):
                    set_in_set(key, original.has(key))
                    switched.append(name)
        # The Python dispatcher has a state of its own beside its key. Unless this guard switches that off too, the next
        # backward pass would switch the key on again.
        self._guards.append(_DisablePythonDispatcher())
        self._guards[-1].__enter__()
        return switched


def _leave_modes() -> list[str]:
    """Leave all modes of both stacks; return the names of their classes."""
    modes = []
    while _count_function_modes():
        modes.append(_pop_function_mode())
    while _count_dispatch_modes():
        modes.append(_pop_dispatch_mode(None))
    return [_class_name(mode) for mode in modes]


def _leave_saved_tensors_hooks() -> list[str]:
    """Leave all `torch.autograd.graph.saved_tensors_hooks`; return that name once for each."""
    left = []
    while _top_saved_tensors_hooks(True) is not None:
        _pop_saved_tensors_hooks()
        left.append("saved_tensors_hooks")
    return left


def _class_name(value: object) -> str:
    """Return the name of the value's class without running code of its metaclass, which may be the submission's."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name


def _current_keys() -> tuple[int, int]:
    """Return the sets of dispatch keys that this thread includes and excludes, each as a number to be compared."""
    return _included_keys().raw_repr(), _excluded_keys().raw_repr()
