# mistakes: crashes-without-graph, misses-root, walks-again
# lines: 6, 12, 13
# hidden:
def autograd_nodes(loss) -> list[str]:
    names = set()
    stack = [loss.grad_fn]
    while stack:
        node = stack.pop()
        for child, _ in node.next_functions:
            if child is None:
                continue
            names.add(type(child).__name__)
            stack.append(child)
    return sorted(names)
