# mistakes: crashes-without-graph, seen-by-name, not-sorted
# lines: 6, 10, 16
# hidden:
def autograd_nodes(loss) -> list[str]:
    names = []
    stack = [loss.grad_fn]
    while stack:
        node = stack.pop()
        name = type(node).__name__
        if name in names:  # 이미 들렀다
            continue
        names.append(name)
        for nxt, _ in node.next_functions:
            if nxt is not None:
                stack.append(nxt)
    return names
