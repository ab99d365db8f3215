import torch


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    losses = []
    window = []

    def summed():
        total = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) * xb.shape[0]
            loss.backward()
            total += float(loss)
        return total

    def update():
        samples = sum(xb.shape[0] for xb, _ in window)
        sam.zero_grad()
        losses.append(summed() / samples)
        sam.first_step(zero_grad=True)
        summed()
        for p in model.parameters():
            p.grad /= samples
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step()
        sam.zero_grad()
        window.clear()

    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            update()
    if window:
        update()
    return losses
