from collections import deque


def autograd_nodes(loss):
    if loss.grad_fn is None:
        return []
    queue = deque([loss.grad_fn])
    visited = {loss.grad_fn}
    names = []
    while queue:
        node = queue.popleft()
        name = node.__class__.__name__
        if name not in names:
            names.append(name)
        for nxt, _index in node.next_functions:
            if nxt is not None and nxt not in visited:
                visited.add(nxt)
                queue.append(nxt)
    names.sort()
    return names
