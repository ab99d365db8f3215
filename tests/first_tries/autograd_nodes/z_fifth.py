# mistakes: seen-by-name
# lines: 12
# hidden:
def autograd_nodes(loss) -> list[str]:
    found = set()

    def visit(node):
        if node is None:
            return
        name = type(node).__name__
        # 이미 본 것은 다시 볼 필요 없음 (겹치지 않게)
        if name in found:
            return
        found.add(name)
        for parent, _ in node.next_functions:
            visit(parent)

    visit(loss.grad_fn)
    return sorted(found)
