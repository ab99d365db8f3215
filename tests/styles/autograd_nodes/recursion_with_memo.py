def autograd_nodes(loss):
    seen = set()

    def visit(node):
        if node is None or node in seen:
            return
        seen.add(node)
        for parent, _ in node.next_functions:
            visit(parent)

    visit(loss.grad_fn)
    return sorted({type(n).__name__ for n in seen})
