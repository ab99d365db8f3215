# expect: walks-again
def autograd_nodes(loss):
    names = set()

    def walk(node):
        if node is not None:
            names.add(type(node).__name__)
            for parent, _ in node.next_functions:
                walk(parent)

    walk(loss.grad_fn)
    return sorted(names)
