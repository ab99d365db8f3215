# mistakes: no-accum-check, leftover-divided-by-full, clip-every-micro-batch, leaves-gradients
# lines: 7, 12, 15, 25
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    n_updates = 0
    n_seen = 0
    opt.zero_grad()
    for xb, yb in micro_batches:
        loss = loss_fn(model(xb), yb)
        loss = loss / accum_steps
        loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        n_seen += 1
        if n_seen % accum_steps == 0:
            opt.step()
            opt.zero_grad()
            n_updates += 1

    # 남은 것 처리
    if n_seen % accum_steps != 0:
        opt.step()
        n_updates += 1
    return n_updates
