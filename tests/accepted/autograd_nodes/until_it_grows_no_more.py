# Goes over all nodes until it finds no new ones.
def autograd_nodes(loss) -> list[str]:
    if loss.grad_fn is None:
        return []
    seen = {loss.grad_fn}
    while True:
        grown = seen | {n for node in seen for n, _ in node.next_functions if n is not None}
        if len(grown) == len(seen):
            return sorted({type(n).__name__ for n in seen})
        seen = grown
