# mistakes: drops-leftover, clips-first-pass-only, last-batch-only, losses-not-reset
# lines: 15, 19, 22, 26
# hidden:
from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    window_losses = []
    running = 0.0
    sam.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        running += loss.item()
        if i % accum_steps != 0:
            continue

        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.first_step(zero_grad=True)

        for _ in range(accum_steps):
            loss = loss_fn(model(xb), yb) / accum_steps
            loss.backward()
        sam.second_step(zero_grad=True)
        window_losses.append(running)
    return window_losses
