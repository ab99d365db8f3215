# mistakes: no-accum-check, leftover-divided-by-full, clip-every-micro-batch, leaves-gradients
# lines: 7, 12, 15, 24
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    steps = 0
    i = 0
    for xb, yb in micro_batches:
        if i % accum_steps == 0:
            opt.zero_grad()
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        i += 1
        if i % accum_steps == 0:
            opt.step()
            steps += 1
    # 남은 것
    if i % accum_steps != 0:
        opt.step()
        steps += 1
    return steps
