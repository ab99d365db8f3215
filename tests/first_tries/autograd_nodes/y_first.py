# mistakes: seen-by-name
# lines: 13
# hidden:
def autograd_nodes(loss) -> list[str]:
    names = set()

    def visit(stack):
        while stack:
            fn = stack.pop()
            if fn is None:
                continue
            label = type(fn).__name__
            if label in names:  # 이미 본 노드
                continue
            names.add(label)
            for nxt, _ in fn.next_functions:
                stack.append(nxt)

    visit([loss.grad_fn])
    return sorted(names)
