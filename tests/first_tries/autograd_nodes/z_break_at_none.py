# mistakes: stops-at-none
# lines: 19
# hidden:
import torch


def autograd_nodes(loss) -> list[str]:
    if loss.grad_fn is None:
        return []
    seen = set()
    stack = [loss.grad_fn]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        for child, _ in node.next_functions:
            if child is None:
                break
            stack.append(child)
    return sorted({type(node).__name__ for node in seen})
