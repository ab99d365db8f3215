"""Keep the operators of torch's C++ code dispatched as they were before any submission ran.

The dispatcher is C++ code of torch. For each call of an operator, such as `aten::any`, it chooses a *kernel*, the code
that runs. A submission could change the dispatcher's choice without replacing any function or attribute that
`originals` compares. There are two defences against that:

- A submission could register a kernel for one of torch's operators: one for `aten::any` could tell the recorder that no
  gradient is left. No right program needs this, so `refuse_new_kernels` *refuses* it for all libraries (objects of
  torch that register kernels), before any submission runs. `OpOverload.py_impl` registers without a library: its
  kernels run only under the dispatch key `PythonDispatcher`, which the second defence switches off.
- It could enter a *mode*, which sees calls, or a hook, which sees tensors saved for the backward pass, or switch a
  *dispatch key* on or off, which decides between kernels. Right programs may do this too, so `DispatchState.restore`
  *undoes* what is left before and after each play. A play that left something fails (`child.py`).

To guard something else of the dispatcher, decide first whether a right program may do it.

- If so, it is undone: add a function like `_leave_modes`, which undoes it and names what it undid, and call it in
  `DispatchState.restore`. It may use only functions of torch that are taken below, before a submission can replace
  them. Add a case to `tests/sandbox/test_dispatcher.py`.
- If not, it is refused. A new public method of libraries is refused already (`_registering_methods`). A whole namespace
  of operators goes into `_CLOSED_NAMESPACES`. Another function of `torch._C` is taken in `_kernel_registrar`, called
  there under a name like `_MAKE_LIBRARY`, and replaced in `refuse_new_kernels`.

In both cases add an attack to `tests/attacks/`, and what becomes of it to `ATTACKS_EXPECTED` of
`tests/sandbox/attacks.py`.
"""

import builtins
from collections.abc import Callable, Generator
from typing import Any

import torch

from grader.observe.wording import LEAVE_ORIGINALS

globals()["__builtins__"] = dict(vars(builtins))  # a copy of its own: see `inside/__init__.py`

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
_number_of_key_set = _torch_c.DispatchKeySet.raw_repr
_has_key = _torch_c.DispatchKeySet.has
_KEYS = dict(_torch_c.DispatchKey.__members__)
"""Name of a dispatch key -> the key."""
_DisablePythonDispatcher = _torch_c._DisablePythonDispatcher
_enter_python_dispatcher_guard = _DisablePythonDispatcher.__enter__

_CLOSED_NAMESPACES = (
    "aten",
    "profiler",  # called in each `step()` and `zero_grad()` of an optimizer
    *("quantized", "_quantized", "quantization", "sparse", "static_runtime"),
    *("mkl", "mkldnn", "mkldnn_prepacked", "onednn"),
    "_",
)
"""Namespaces in which no kernel can be registered: those of operators that torch's C++ code defines, and that of
kernels to which all operators fall back (`_`). Libraries made from now on may register in others, as modules of torch
that are imported later, its compiler and `custom_op` do."""
_RegistrarCall = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A call that the registrar is asked to make: the name of a method of torch's library objects, or `_MAKE_LIBRARY`, and
the arguments. The first argument of a method is the library."""
_MAKE_LIBRARY = "<make library>"
"""Takes the place of a method's name in a `_RegistrarCall` that makes a library. No method has this name."""


def refuse_new_kernels() -> None:
    """Refuse new kernels for torch's operators in this process from now on.

    A library registers kernels in one namespace. Libraries that exist already may register nothing more; new ones may,
    outside `_CLOSED_NAMESPACES`.
    """
    registrar = _kernel_registrar()
    # Run it to its first `yield`, where it waits for a call: it takes torch's own functions before they are replaced.
    next(registrar)
    for name in _registering_methods():
        setattr(torch._C._DispatchModule, name, _forward_to(registrar, name))
    torch._C._dispatch_library = _forward_to(registrar, _MAKE_LIBRARY)


def _registering_methods() -> list[str]:
    """Return the names of the methods by which torch's libraries register something: all public ones but `reset`.

    That one only takes back what a library has registered, in the process of the submission that calls it.
    """
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

    This is a generator because only its frame then holds torch's own functions. Looking at a frame is reported as a
    suspicious act.
    """
    make_library = torch._C._dispatch_library
    methods = {name: getattr(torch._C._DispatchModule, name) for name in _registering_methods()}
    libraries: list[Any] = []  # those made here; others may belong to torch
    # Local copies, because a submission can set this module's globals.
    make_library_name, closed_namespaces = _MAKE_LIBRARY, _CLOSED_NAMESPACES
    answer: tuple[Any, Exception | None] = (None, None)
    while True:
        name, args, kwargs = yield answer
        values = (*args, *kwargs.values())
        # C takes bytes and subclasses of str as names too. The methods of such an object may lie about its text, and no
        # honest call passes one.
        has_disguised_name = any(
            isinstance(value, str | bytes | bytearray) and type(value) is not str for value in values
        )
        names_torch = any(
            type(value) is str and value.partition("::")[0] in closed_namespaces for value in values
        )
        makes_library = name == make_library_name
        is_made_here = bool(args) and any(args[0] is library for library in libraries)
        try:
            if has_disguised_name or names_torch or not (makes_library or is_made_here):
                raise RuntimeError(f"{LEAVE_ORIGINALS} 연산자의 구현은 더하거나 바꿀 수 없어요.")
            call = make_library if makes_library else methods[name]
            answer = call(*args, **kwargs), None
        except Exception as error:
            # A KeyboardInterrupt is not caught: it ends the generator, and then nothing can be registered any more.
            answer = None, error
        if makes_library and answer[0] is not None:
            libraries.append(answer[0])


class DispatchState:
    """Remembers the dispatch keys of this thread. Restores them, and leaves all modes and hooks."""

    def __init__(self) -> None:
        """Remember the current dispatch keys. Make this object while no mode or hook is entered."""
        self._original_keys = _current_keys()
        self._guards: list[Any] = []
        """Objects of torch that `_restore_keys` entered. They stay entered: leaving one would undo its effect."""

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
                if is_in_set(key) != _has_key(original, key):
                    set_in_set(key, _has_key(original, key))
                    switched.append(name)
        # The Python dispatcher has a state of its own beside its key. Unless this object switches that off too, the
        # next backward pass would switch the key on again.
        self._guards.append(_DisablePythonDispatcher())
        _enter_python_dispatcher_guard(self._guards[-1])
        return switched


def _leave_modes() -> list[str]:
    """Leave all modes of both stacks; return the names of their classes."""
    modes = []
    while _count_function_modes():
        modes.append(_pop_function_mode())
    while _count_dispatch_modes():
        modes.append(_pop_dispatch_mode(None))  # None: whichever is on top
    return [_class_name(mode) for mode in modes]


def _leave_saved_tensors_hooks() -> list[str]:
    """Leave all `torch.autograd.graph.saved_tensors_hooks`; return that name once for each."""
    left = []
    while _top_saved_tensors_hooks(True) is not None:  # True: while traced, too
        _pop_saved_tensors_hooks()
        left.append("saved_tensors_hooks")
    return left


def _class_name(value: object) -> str:
    """Return the name of the value's class without running code of its metaclass, which may be the submission's."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name


def _current_keys() -> tuple[int, int]:
    """Return the sets of dispatch keys that this thread includes and excludes, each as a number to be compared."""
    return _number_of_key_set(_included_keys()), _number_of_key_set(_excluded_keys())
