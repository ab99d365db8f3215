import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None):
    source = iter(micro_batches)
    batch = next(source, None)
    if batch is None:
        raise ValueError("empty window")
    opt.zero_grad()
    losses = []
    while batch is not None:
        following = next(source, None)
        ddp.require_backward_grad_sync = following is None
        loss = loss_fn(ddp(batch[0]), batch[1])
        loss.backward()
        losses.append(loss.detach())
        batch = following
    for p in ddp.parameters():
        if p.grad is not None:
            p.grad.div_(len(losses))
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(ddp.parameters(), max_norm)
    opt.step()
    return float(torch.stack(losses).mean())
