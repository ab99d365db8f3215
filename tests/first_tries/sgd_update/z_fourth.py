# mistakes: stops-at-none, changes-gradients
# lines: 17, 12
# hidden:
import torch


def sgd_update(params, lr) -> None:
    남은_것 = iter(params)

    def 옮기기(p):
        p.sub_(p.grad, alpha=lr)
        p.grad = None

    with torch.no_grad():
        while True:
            p = next(남은_것, None)
            if p is None or p.grad is None:
                return
            옮기기(p)
