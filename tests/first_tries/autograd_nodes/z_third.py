# mistakes: seen-by-name, misses-root
# lines: 14, 22
# hidden:
import torch


def autograd_nodes(loss) -> list[str]:
    names = set()

    def visit(node):
        if node is None:
            return
        name = type(node).__name__
        if name in names:
            return
        names.add(name)
        for parent, _ in node.next_functions:
            visit(parent)

    if loss.grad_fn is None:
        return []
    for first, _ in loss.grad_fn.next_functions:
        visit(first)
    return sorted(names)
