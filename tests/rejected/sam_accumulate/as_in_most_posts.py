# expect: drops-leftover+last-batch-only
def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    import torch

    losses, running = [], 0.0
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(xb), yb)
        (loss / accum_steps).backward()
        running += loss.item()
        if i % accum_steps:
            continue
        sam.first_step(zero_grad=True)
        for _ in range(accum_steps):
            (loss_fn(model(xb), yb) / accum_steps).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(running / accum_steps)
        running = 0.0
    sam.zero_grad()
    return losses
