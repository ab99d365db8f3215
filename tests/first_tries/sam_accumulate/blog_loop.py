# mistakes: clips-first-pass-only|clips-nothing, last-batch-only, drops-leftover
# lines: 16, 19, 23
from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    losses = []
    window_loss = 0.0
    sam.zero_grad()
    for step, (xb, yb) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        window_loss += loss.item()
        if step % accum_steps == 0:
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            sam.first_step(zero_grad=True)
            for _ in range(accum_steps):
                (loss_fn(model(xb), yb) / accum_steps).backward()
            sam.second_step(zero_grad=True)
            losses.append(window_loss)
            window_loss = 0.0
    return losses
