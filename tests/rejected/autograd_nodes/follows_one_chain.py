# expect: walks-first-parent-only
def autograd_nodes(loss):
    names = set()
    f = loss.grad_fn
    while f is not None:
        names.add(type(f).__name__)
        f = f.next_functions[0][0] if f.next_functions else None
    return sorted(names)
