import torch


def autograd_nodes(loss):
    names = set()

    def walk(fn):
        if fn is None:
            return
        name = type(fn).__name__
        if name in names:  # here: seen-by-name
            return
        names.add(name)
        for nxt, _ in fn.next_functions:
            walk(nxt)

    walk(loss.grad_fn)
    return sorted(names)
