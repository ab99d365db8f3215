# mistakes: seen-by-name
# lines: 12
# hidden:
def autograd_nodes(loss) -> list[str]:
    names = set()
    todo = [loss.grad_fn]
    while todo:
        fn = todo.pop()
        if fn is None:
            continue
        label = type(fn).__name__
        if label in names:  # 이미 본 노드
            continue
        names.add(label)
        todo.extend(child for child, _ in fn.next_functions)
    return sorted(names)
