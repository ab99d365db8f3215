# mistakes: clips-first-pass-only, last-batch-only, drops-leftover
# lines: 17, 19, 23
from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    losses = []
    running = 0.0
    sam.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        running += loss.item()
        if (i + 1) % accum_steps == 0:
            if max_norm is not None:
                params = [p for g in sam.param_groups for p in g["params"]]
                clip_grad_norm_(params, max_norm)
            sam.first_step(zero_grad=True)
            loss_fn(model(xb), yb).backward()
            sam.second_step(zero_grad=True)
            losses.append(running)
            running = 0.0
    sam.zero_grad()
    return losses
