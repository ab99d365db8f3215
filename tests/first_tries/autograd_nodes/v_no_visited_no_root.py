# mistakes: misses-root, walks-again
# lines: 9, 11
# hidden:
def autograd_nodes(loss) -> list[str]:
    root = loss.grad_fn
    if root is None:
        return []
    found = set()
    todo = [fn for fn, _ in root.next_functions if fn is not None]
    while len(todo) > 0:
        fn = todo.pop()
        found.add(type(fn).__name__)
        for child, _idx in fn.next_functions:
            if child is not None:
                todo.append(child)
    return sorted(found)
