# expect: drops-leftover
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError(accum_steps)
    optimizer_steps = 0
    model.zero_grad()
    for batch_idx, batch in enumerate(micro_batches, start=1):
        xb, yb = batch
        loss = loss_fn(model(xb), yb)
        (loss / accum_steps).backward()
        if batch_idx % accum_steps == 0:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            model.zero_grad()
            optimizer_steps += 1
    return optimizer_steps
