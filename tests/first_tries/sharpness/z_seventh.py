# mistakes: different-masks
# lines: 26
# hidden:
import copy

import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    # 원래 모델은 건드리지 않고 복사본에서만 계산한다
    twin = copy.deepcopy(model)
    trainable = [p for p in twin.parameters() if p.requires_grad]

    def loss_here():
        return loss_fn(twin(xb), yb)

    with torch.random.fork_rng():
        base_loss = loss_here()
        grads = torch.autograd.grad(base_loss, trainable, allow_unused=True)
        norm = sum(g.double().pow(2).sum().item() for g in grads if g is not None) ** 0.5
        with torch.no_grad():
            if norm > 0:
                for p, g in zip(trainable, grads):
                    if g is not None:
                        p.add_(g, alpha=rho / norm)
            raised_loss = loss_here()

    return raised_loss.item() - base_loss.item()
