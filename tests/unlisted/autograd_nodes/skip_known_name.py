# mistakes: 이름이 이미 나온 노드는 들르지 않아 그 뒤의 노드를 놓침
# lines: 15
def autograd_nodes(loss) -> list[str]:
    if loss.grad_fn is None:
        return []
    seen = {loss.grad_fn}
    names = set()
    stack = [loss.grad_fn]
    while stack:
        node = stack.pop()
        names.add(type(node).__name__)
        for nxt, _ in node.next_functions:
            if nxt is None or nxt in seen:
                continue
            if type(nxt).__name__ in names:
                continue
            seen.add(nxt)
            stack.append(nxt)
    return sorted(names)
