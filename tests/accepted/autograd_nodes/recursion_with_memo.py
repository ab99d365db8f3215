import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def autograd_nodes(loss):
    names, seen = [], set()
    def go(f):
        if f is None or f in seen: return
        seen.add(f)
        names.append(type(f).__name__)
        for g, _ in f.next_functions:
            go(g)
    go(loss.grad_fn)
    return sorted(set(names))
