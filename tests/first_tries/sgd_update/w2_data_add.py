# mistakes: climbs, touches-none, changes-gradients
# lines: 7, 6, 8
# hidden:
def sgd_update(params, lr) -> None:
    for p in params:
        d_p = p.grad.data
        p.data.add_(lr * d_p)
        p.grad = None
