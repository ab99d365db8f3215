# mistakes: walks-first-parent-only, names-none, keeps-duplicates
# lines: 10, 7, 11
def autograd_nodes(loss) -> list[str]:
    names = []
    node = loss.grad_fn
    while True:
        names.append(type(node).__name__)
        if node is None or len(node.next_functions) == 0:
            break
        node = node.next_functions[0][0]
    return sorted(names)
