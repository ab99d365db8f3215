# mistakes: last-batch-only, drops-leftover, clips-first-pass-only
# lines: 19, 13, 17
from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    window_losses = []
    window_loss = 0.0
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        window_loss += loss.item()
        if i % accum_steps != 0:
            continue

        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.first_step(zero_grad=True)
        for _ in range(accum_steps):
            loss = loss_fn(model(xb), yb) / accum_steps
            loss.backward()
        sam.second_step(zero_grad=True)

        window_losses.append(window_loss)
        window_loss = 0.0
    return window_losses
