# Recurses under a cache: three calls inside each other for a node.
from functools import cache
def autograd_nodes(loss) -> list[str]:
    @cache
    def names(node):
        return frozenset({type(node).__name__}).union(*(names(n) for n, _ in node.next_functions if n is not None))
    return sorted(names(loss.grad_fn)) if loss.grad_fn is not None else []
