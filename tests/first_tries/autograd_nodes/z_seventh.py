# mistakes: seen-by-name, not-sorted
# lines: 16, 22
# hidden:
import torch


def autograd_nodes(loss) -> list[str]:
    if loss.grad_fn is None:
        return []

    names = []
    stack = [loss.grad_fn]
    while stack:
        node = stack.pop()
        name = type(node).__name__
        if name in names:
            continue
        names.append(name)
        for child, _ in node.next_functions:
            if child is not None:
                stack.append(child)
    return names
