# Asks whether something is a node by its class.
from torch.autograd.graph import Node
def autograd_nodes(loss) -> list[str]:
    todo, seen = [loss.grad_fn], set()
    while todo:
        node = todo.pop()
        if isinstance(node, Node) and node not in seen:
            seen.add(node)
            todo += [n for n, _ in node.next_functions]
    return sorted({type(n).__name__ for n in seen})
