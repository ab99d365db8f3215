# mistakes: forces-eval-mode, returns-tensor
# lines: 11, 24
import copy

import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    # 원래 모델은 건드리지 않고 사본으로 잰다
    probe = copy.deepcopy(model)
    probe.eval()  # 드롭아웃 끄기
    params = [p for p in probe.parameters() if p.requires_grad]

    with torch.random.fork_rng():
        loss = loss_fn(probe(xb), yb)
    grads = torch.autograd.grad(loss, params)
    norm = sum((g ** 2).sum() for g in grads) ** 0.5

    with torch.no_grad():
        for p, g in zip(params, grads):
            p.add_(rho * g / norm)
        with torch.random.fork_rng():
            loss_up = loss_fn(probe(xb), yb)
    return (loss_up - loss).detach()
