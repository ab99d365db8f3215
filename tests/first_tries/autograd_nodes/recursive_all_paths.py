# mistakes: uses-node-name, walks-again, keeps-duplicates
# lines: 9, 11, 15
def autograd_nodes(loss) -> list[str]:
    result = []

    def dfs(fn):
        if fn is None:
            return
        result.append(fn.name())
        for nxt in fn.next_functions:
            dfs(nxt[0])

    dfs(loss.grad_fn)
    result.sort()
    return result
