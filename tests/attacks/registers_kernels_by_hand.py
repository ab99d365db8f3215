"""Registers a kernel without the module `library`: through C, and through a library that torch itself has made."""

import torch
from torch import library


def nothing_left(tensor):
    return torch.zeros((), dtype=torch.bool)


def first(model, opt, xb):
    refused = []
    for register in (
        lambda: torch._C._dispatch_library("IMPL", "aten", "CPU").impl("any", "CPU", nothing_left),
        lambda: torch._C._dispatch_library("FRAGMENT", "own", "").impl("aten::any", "CPU", nothing_left),
        lambda: torch._meta_registrations._meta_lib_dont_use_me_use_register_meta.impl("any", nothing_left, "Meta"),
        lambda: library.impl("aten::any", "CPU", nothing_left),
        lambda: library.register_kernel("aten::any", "cpu", nothing_left),
    ):
        try:
            register()
        except RuntimeError:
            refused.append(True)
    raise LookupError(f"refused: {len(refused)}")
