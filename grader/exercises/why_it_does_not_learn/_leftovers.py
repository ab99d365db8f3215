"""Count what instruments leave on a model, for the driver of `Dashboard`, which compares before and after."""

from torch import nn
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
