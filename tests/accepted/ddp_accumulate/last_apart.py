from torch.nn.utils import clip_grad_norm_


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None):
    *others, last = list(micro_batches) or [None]
    if last is None:
        raise ValueError("nothing to learn from")
    count = len(others) + 1
    opt.zero_grad(set_to_none=True)

    def add(x, y):
        loss = loss_fn(ddp(x), y) / count
        loss.backward()
        return loss.item()

    total = 0.0
    with ddp.no_sync():
        for x, y in others:
            total += add(x, y)
    total += add(*last)
    if max_norm is not None:
        clip_grad_norm_(ddp.module.parameters(), max_norm)
    opt.step()
    return total
