# mistakes: crashes-without-graph, seen-by-name, not-sorted
# lines: 8, 12, 18
from collections import deque


def autograd_nodes(loss) -> list[str]:
    visited = set()
    queue = deque([loss.grad_fn])
    while queue:
        node = queue.popleft()
        name = type(node).__name__
        if name in visited:
            continue
        visited.add(name)
        for child, _ in node.next_functions:
            if child is not None:
                queue.append(child)
    return list(visited)
