# mistakes: skips-none, frozen-gets-gradient
# lines: 7, 7
# hidden:
def all_reduce_mean_(params, dist):
    n = dist.get_world_size()
    for p in params:
        if p.grad is None:
            continue
        dist.all_reduce(p.grad)
        p.grad = p.grad / n
