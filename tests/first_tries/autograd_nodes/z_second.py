# mistakes: uses-node-name
# lines: 17
# hidden:
def autograd_nodes(loss) -> list[str]:
    start = loss.grad_fn
    if start is None:
        return []

    visited = set()
    names = set()
    todo = [start]
    while todo:
        node = todo.pop()
        if node in visited:
            continue
        visited.add(node)
        names.add(node.name())
        # 다음 노드들을 줄에 세운다
        todo.extend(following for following, _ in node.next_functions if following is not None)
    return sorted(names)
