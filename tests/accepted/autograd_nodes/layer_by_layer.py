def autograd_nodes(loss):
    layer = {loss.grad_fn} - {None}
    everything = set()
    while layer:
        everything |= layer
        layer = {n for f in layer for n, _ in f.next_functions if n is not None} - everything
    return sorted(set(map(lambda n: type(n).__name__, everything)))
