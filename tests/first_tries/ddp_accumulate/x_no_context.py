# mistakes: reduces-every-time, empty-passes
# lines: 12, 9
# hidden:
import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    batches = list(micro_batches)
    opt.zero_grad()
    total = 0.0
    for x, y in batches:
        loss = loss_fn(ddp(x), y) / len(batches)
        loss.backward()
        total += loss.item()
    if max_norm:
        torch.nn.utils.clip_grad_norm_(ddp.parameters(), max_norm)
    opt.step()
    return total
