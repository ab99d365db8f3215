"""Tell the recorder of calls for which torch has no hook: backward passes, clipping, methods of single objects.

`recorder.py` uses all three functions, `notebook/microscopy/recording.py` the first and the last, and the driver of
`train_step_extras` the last. To note another function of torch, add it to `targets` in `noted_calls`, and its kind to
`trace.py Event.kind`.
"""

import builtins
import functools
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from grader.observe.parameters import identity

_LEARNERS_CLIP = "clip_global_norm"
"""Name of the clipping function that learners write in lesson 03."""
Note = Callable[[str, bool], None]
"""Function that receives an event's kind, and True if gradients were returned to the caller (`torch.autograd.grad`)."""


@contextmanager
def noted_calls(function: Callable[..., Any], note: Note) -> Iterator[None]:
    """Note backward passes and clipping while the learner's function runs.

    The functions are replaced in torch, and also in the submission's globals, where it may have imported them (`from
    torch.nn.utils import clip_grad_norm_`). The clipping function that learners write in lesson 03 is wrapped too.
    Everything is restored afterwards.

    Args:
        function: the learner's function.
        note: called for each event.
    """
    clip = torch.nn.utils.clip_grad
    # Each: the module, the name of its function, and the kind of the event.
    targets: list[tuple[Any, str, str]] = [
        (torch.autograd, "backward", "backward"),
        (torch.autograd, "grad", "backward"),
        (clip, "clip_grad_norm_", "clip"),
        (clip, "clip_grad_value_", "clip"),
        (torch.nn.utils, "clip_grad_norm_", "clip"),
        (torch.nn.utils, "clip_grad_value_", "clip"),
    ]
    in_progress: list[tuple[int, str]] = []
    undo: list[Callable[[], None]] = []
    wrappers: dict[int, Any] = {}  # by identity of the function that is wrapped
    originals = []  # keeps these functions alive: otherwise another object could get the identity of one
    try:
        for owner, name, kind in targets:
            original = getattr(owner, name)
            originals.append(original)
            wrapper = wrappers.setdefault(
                identity(original), _noting_wrapper(original, kind, note, in_progress)
            )
            setattr(owner, name, wrapper)
            undo.append(lambda o=owner, n=name, f=original: setattr(o, n, f))  # type: ignore[misc]
        # A driver that calls the learner's function in a way of its own names it by `__wrapped__`.
        namespace = getattr(getattr(function, "__wrapped__", function), "__globals__", {})
        learners_clip = namespace.get(_LEARNERS_CLIP)
        if isinstance(learners_clip, types.FunctionType) and learners_clip is not function:
            wrappers[identity(learners_clip)] = _noting_wrapper(learners_clip, "clip", note, in_progress)
        for name, value in list(namespace.items()):
            if identity(value) in wrappers:
                namespace[name] = wrappers[identity(value)]
                undo.append(lambda n=name, f=value: namespace.__setitem__(n, f))  # type: ignore[misc]
        yield
    finally:
        for restore in reversed(undo):
            restore()


@contextmanager
def noted_prints(note: Callable[[], None]) -> Iterator[None]:
    """Note each `print` to standard output while the learner's function runs; the text still appears."""
    original = builtins.print

    @functools.wraps(original)
    def noted(*args: Any, **kwargs: Any) -> None:
        if kwargs.get("file") in (None, sys.stdout):
            note()
        original(*args, **kwargs)

    builtins.print = noted
    try:
        yield
    finally:
        builtins.print = original


def note_before(owner: Any, name: str, note: Callable[[], None]) -> None:
    """Replace the method `owner.name`, for good, by one that calls `note` first."""
    original = getattr(owner, name)

    @functools.wraps(original)  # Accelerate inspects the signature of an optimizer's zero_grad
    def noted(*args: Any, **kwargs: Any) -> Any:
        note()
        return original(*args, **kwargs)

    object.__setattr__(owner, name, noted)


def _noting_wrapper(
    original: Callable[..., Any], kind: str, note: Note, in_progress: list[tuple[int, str]]
) -> Callable[..., Any]:
    """Return a function that notes an event of this kind and then calls `original`.

    Args:
        original: the function to wrap.
        kind: kind of the event.
        note: called for each event.
        in_progress: thread and kind of the calls in progress, shared by all wrappers. A call inside another one of
            its kind, in the same thread, is not an event of its own.
    """

    def noted(*args: Any, **kwargs: Any) -> Any:
        by_hand = original.__name__ == "grad"
        this_call = (threading.get_ident(), kind)
        outermost = this_call not in in_progress
        if outermost:
            note(kind, by_hand)
        in_progress.append(this_call)
        try:
            result = original(*args, **kwargs)
        finally:
            in_progress.remove(this_call)
        # `torch.autograd.grad` returns the gradients, so no hook on a parameter sees them.
        if by_hand and outermost:
            note("gradient", False)
        return result

    return noted
