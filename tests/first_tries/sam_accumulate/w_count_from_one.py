# mistakes: last-batch-only, drops-leftover, clips-first-pass-only, returns-sum
# lines: 23, 16, 19, 27
# hidden:
from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    losses = []
    running = 0.0
    sam.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        # 첫 번째 패스
        loss = loss_fn(model(xb), yb)
        running += loss.item()
        (loss / accum_steps).backward()
        if i % accum_steps != 0:
            continue
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.first_step(zero_grad=True)

        # 두 번째 패스
        for _ in range(accum_steps):
            loss = loss_fn(model(xb), yb)
            (loss / accum_steps).backward()
        sam.second_step(zero_grad=True)
        losses.append(running)
        running = 0.0
    return losses
