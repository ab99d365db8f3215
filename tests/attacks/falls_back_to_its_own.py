"""Registers itself as what every operator falls back to, under keys that it then switches on."""

import torch
from torch import library


def fallback(operator, *args, **kwargs):
    return torch.zeros((), dtype=torch.bool)


def first(model, opt, xb):
    own = library.Library("_", "IMPL")
    own.fallback(fallback, "TESTING_ONLY_GenericMode")
    torch._C._dispatch_tls_set_dispatch_key_included("TESTING_ONLY_GenericMode", True)
    return 0.0
