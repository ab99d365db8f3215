# mistakes: names-none, walks-again
# lines: 8, 12
def autograd_nodes(loss) -> list[str]:
    found = set()
    stack = [loss.grad_fn]
    while stack:
        fn = stack.pop()
        found.add(type(fn).__name__)
        if fn is None:
            continue
        for nxt, _ in fn.next_functions:
            stack.append(nxt)
    return sorted(found)
