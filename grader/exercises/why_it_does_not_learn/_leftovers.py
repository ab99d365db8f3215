"""Find what instruments leave behind: hooks and attributes on a model, and graphs; for the driver of `Dashboard`.

To find something else that a dashboard must not leave, add a function here and call it in the driver's scenario
`close`, or in `graph` if it is a graph.
"""

import gc
import weakref
from typing import Any

from torch import Tensor, nn
from torch.nn.modules import module as torch_module


def attribute_names(model: nn.Module) -> list[str]:
    """Return the names of all attributes of a model's modules and parameters."""
    held = (*model.named_modules(), *model.named_parameters())
    return [f"{name}.{attribute}" for name, thing in held for attribute in vars(thing)]


def hook_count(model: nn.Module) -> int:
    """Return the number of hooks on a model's modules and parameters, and of those on all modules that there are."""
    places = [value for module in model.modules() for key, value in vars(module).items() if "hooks" in key]
    for parameter in model.parameters():
        places += [parameter._backward_hooks, getattr(parameter, "_post_accumulate_grad_hooks", None)]
    places += [value for key, value in vars(torch_module).items() if key.startswith("_global_")]
    return sum(len(place) for place in places if isinstance(place, dict))


class FollowedGraphs:
    """The computation graphs of all outputs that a model's modules have given since this was made."""

    def __init__(self, model: nn.Module) -> None:
        self._tokens: list[weakref.ref[_GraphToken]] = []
        for module in model.modules():
            module.register_forward_hook(self._follow)

    def are_any_alive(self) -> bool:
        """Return True if any of the graphs has not been freed."""
        if self._has_live_token():
            gc.collect()  # what only a cycle of the learner's own objects keeps is as good as freed
        return self._has_live_token()

    def _follow(self, _: nn.Module, __: Any, output: Tensor) -> None:
        """Hang a token on the graph of an output; this is a forward hook."""
        if output.grad_fn is not None:
            token = _GraphToken()
            output.grad_fn.register_hook(token)
            self._tokens.append(weakref.ref(token))

    def _has_live_token(self) -> bool:
        """Return True if any token is still held by a graph."""
        return any(token() is not None for token in self._tokens)


class _GraphToken:
    """A hook that does nothing; it lives as long as the graph it is registered on."""

    def __call__(self, *_: Any) -> None:
        return None
