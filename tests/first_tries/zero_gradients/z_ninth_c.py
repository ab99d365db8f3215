# mistakes: skips-frozen, multiplies-by-zero
# lines: 8, 12
# hidden:
import torch


def zero_gradients(params) -> None:
    learnable = filter(lambda p: p.requires_grad and p.grad is not None, params)

    def wipe(g):
        with torch.no_grad():
            g.mul_(0)

    for p in learnable:
        wipe(p.grad)
