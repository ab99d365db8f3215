def walk(node, memo):
    if node is None or node in memo:
        return
    memo.add(node)
    yield type(node).__name__
    for parent, _ in node.next_functions:
        yield from walk(parent, memo)


def autograd_nodes(loss):
    return sorted(set(walk(loss.grad_fn, set())))
