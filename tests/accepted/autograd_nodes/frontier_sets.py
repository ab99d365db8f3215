def autograd_nodes(loss) -> list[str]:
    reached = set()
    frontier = {loss.grad_fn} - {None}
    while frontier:
        reached |= frontier
        frontier = {child for node in frontier for child, _ in node.next_functions} - reached - {None}
    return sorted({type(node).__name__ for node in reached})
