"""Observe within a training forward which operations let positions of a sequence see later ones."""

from typing import Any

import torch
from torch import Tensor, nn

from grader.scripts.facts import ForwardRan
from grader.scripts.patches import Original
from grader.scripts.places import Place, own_place
from grader.scripts.things import Mixed
from grader.scripts.watch import Watch

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
_MOST_FORWARDS, _MOST_MIXED = 16, 64
_SHORTEST = 4
_BLOCKED = -1e3
"""A mask of real numbers blocks where it is below this."""


class MixingObserver:
    """Handler of attention, and looks at softmax and at sequence layers."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._forward: ForwardRan | None = None
        self._forwards = 0

    def forward_began(self, forward: ForwardRan) -> None:
        """Look at an outermost forward, if it is one of the first that build a graph."""
        self._forwards += forward.grad
        looked = forward.grad and self._forwards <= _MOST_FORWARDS
        self._forward = forward if looked else None

    def forward_ended(self) -> None:
        """Leave the outermost forward."""
        self._forward = None

    def attended(self, original: Original, args: Arguments, kwargs: Keywords) -> Any:
        """Note whether an attention of a sequence to itself leaves out what comes later."""
        done = original(*args, **kwargs)
        watch = self._watch
        if watch.busy or watch.in_backward or self._forward is None:
            return done
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        given = dict(zip(names, args, strict=False)) | kwargs
        query, key, mask = (given.get(name) for name in ("query", "key", "attn_mask"))
        if isinstance(query, Tensor) and isinstance(key, Tensor) and query.ndim >= 3 and key.ndim >= 3:
            length = query.shape[-2]
            if length == key.shape[-2] and length >= _SHORTEST:
                with watch.working():
                    open_ = not given.get("is_causal") and (mask is None or _is_open(mask, length))
                    self._add(length, open_)
        return done

    def softmaxed(self, done: Tensor) -> None:
        """Note the weights of an attention that the script computes by hand: a square for each head."""
        watch = self._watch
        if self._forward is None or done.ndim < 3 or not _SHORTEST <= done.shape[-1] == done.shape[-2]:
            return
        with watch.working():
            one = done.detach().reshape(-1, *done.shape[-2:])[0]
            self._add(done.shape[-1], bool(one.triu(1).any()))

    def part_began(self, module: nn.Module, args: Arguments, built: Place | None) -> None:
        """Note a recurrent or convolutional layer over a sequence."""
        given = args[0] if args else None
        if self._forward is None or not isinstance(given, Tensor):
            return
        if isinstance(module, nn.RNNBase | nn.RNNCellBase):
            open_ = bool(getattr(module, "bidirectional", False))
            length = given.shape[1 if getattr(module, "batch_first", False) else 0] if given.ndim == 3 else 0
        elif isinstance(module, nn.Conv1d) and module.kernel_size[0] > 1:
            around = module.dilation[0] * (module.kernel_size[0] - 1)
            open_ = module.padding == "same" or 2 * int(module.padding[0]) == around
            length = given.shape[-1]
        else:
            return
        self._add(length, open_, built or own_place())

    def _add(self, length: int, open_: bool, place: Place | None = None) -> None:
        assert self._forward is not None
        if len(self._forward.mixed) < _MOST_MIXED:
            self._forward.mixed += (Mixed(place or own_place(), length, open_),)


def _is_open(mask: Any, length: int) -> bool:
    """Return True if a mask lets some position attend to a later one."""
    if not isinstance(mask, Tensor) or mask.ndim < 2:
        return True
    whole = mask.detach().expand(*mask.shape[:-2], length, length).reshape(-1, length, length)[0]
    allowed = whole if whole.dtype == torch.bool else whole > _BLOCKED
    return bool(allowed.triu(1).any())
