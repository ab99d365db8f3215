# mistakes: 더 갈 곳이 없는 노드(AccumulateGrad)의 이름을 빠뜨림
# lines: 10
def autograd_nodes(loss):
    names, seen = set(), set()

    def visit(node):
        if node is None or node in seen:
            return
        seen.add(node)
        if node.next_functions:
            names.add(type(node).__name__)
        for child, _ in node.next_functions:
            visit(child)

    visit(loss.grad_fn)
    return sorted(names)
