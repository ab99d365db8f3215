# mistakes: none-without-graph, uses-node-name, walks-first-parent-only, not-sorted
# lines: 9, 13, 18, 19
import torch


def autograd_nodes(loss):
    node = loss.grad_fn
    if node is None:
        return None
    found = []
    # grad_fn 을 따라 끝까지 내려간다
    while node is not None:
        name = node.name()
        if name not in found:
            found.append(name)
        if len(node.next_functions) == 0:
            break
        node = node.next_functions[0][0]
    return found
