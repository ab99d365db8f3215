# mistakes: keeps-duplicates, walks-first-parent-only, not-sorted
# lines: 7, 10, 11
def autograd_nodes(loss) -> list[str]:
    names = []
    node = loss.grad_fn
    while node is not None:
        names.append(type(node).__name__)
        if len(node.next_functions) == 0:
            break
        node = node.next_functions[0][0]
    return names
