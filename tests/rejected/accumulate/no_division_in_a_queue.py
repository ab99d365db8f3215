# expect: no-division
from collections import deque

from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    queue = deque(micro_batches)
    k = 0
    while queue:
        opt.zero_grad()
        for _ in range(min(accum_steps, len(queue))):
            xb, yb = queue.popleft()
            loss_fn(model(xb), yb).backward()
        if max_norm is not None:
            clip_grad_norm_(list(model.parameters()), max_norm)
        opt.step()
        k += 1
    opt.zero_grad()
    return k
