"""Registers functions that copy torch's objects: no attribute of a module is replaced."""

import copy
import copyreg

import torch

KNOWN = (copy._deepcopy_dispatch, copy._copy_dispatch, copyreg.dispatch_table)


def first(model, opt, xb):
    """Say what of this is still there when the function is called, and register it again."""
    left = [copiers.get(torch.nn.Linear) is not None for copiers in KNOWN]
    register()
    raise LookupError(f"left: {left}")


def register():
    for copiers in KNOWN:
        copiers[torch.nn.Linear] = lambda *args: "mine"


register()
