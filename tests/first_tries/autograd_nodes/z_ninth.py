# mistakes: seen-by-name, unlisted(recursion stops at a deep graph)
# lines: 11, 15
# hidden: unlisted(recursion stops at a deep graph)
def autograd_nodes(loss) -> list[str]:
    names = set()

    def visit(node):
        if node is None:
            return
        name = type(node).__name__
        if name in names:
            return
        names.add(name)
        for child, _ in node.next_functions:
            visit(child)

    visit(loss.grad_fn)
    return sorted(names)
