# mistakes: clips-before-dividing
# lines: 22
# hidden:
from contextlib import nullcontext

from torch.nn.utils import clip_grad_norm_


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    data = list(micro_batches)
    if len(data) == 0:
        raise ValueError("마이크로 배치가 없습니다.")
    opt.zero_grad()
    losses = []
    for k, (x, y) in enumerate(data, 1):
        with nullcontext() if k == len(data) else ddp.no_sync():
            loss = loss_fn(ddp(x), y)
            loss.backward()
        losses.append(loss.item())
    params = [p for p in ddp.module.parameters() if p.grad is not None]
    if max_norm is not None:
        clip_grad_norm_(params, max_norm)
    for p in params:
        p.grad.div_(len(data))
    opt.step()
    return sum(losses) / len(losses)
