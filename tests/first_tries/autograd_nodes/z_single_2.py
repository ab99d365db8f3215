# mistakes: walks-first-parent-only
# lines: 11
# hidden:
def autograd_nodes(loss) -> list[str]:
    names = set()
    node = loss.grad_fn
    while node is not None:
        names.add(type(node).__name__)
        following = node.next_functions
        candidates = [fn for fn, _ in following if fn is not None]
        node = candidates[0] if candidates else None
    return sorted(names)
