# mistakes: misses-leaves
# lines: 19
# hidden:
from collections import deque


def autograd_nodes(loss) -> list[str]:
    root = loss.grad_fn
    if root is None:
        return []
    visited = {root}
    queue = deque([root])
    while queue:
        current = queue.popleft()
        for nxt, _index in current.next_functions:
            if nxt is None or nxt in visited:
                continue
            # 잎은 연산이 아니다
            if hasattr(nxt, "variable"):
                continue
            visited.add(nxt)
            queue.append(nxt)
    return sorted({type(fn).__name__ for fn in visited})
