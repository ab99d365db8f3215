# mistakes: returns-micro-count, clip-every-micro-batch, drops-leftover
# lines: 17, 23, 27
# hidden:
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps >= 1")

    model_params = list(model.parameters())
    count = 0
    window = []
    opt.zero_grad()
    for xb, yb in micro_batches:
        window.append((xb, yb))
        count += 1
        if len(window) < accum_steps:
            continue
        for x, y in window:
            (loss_fn(model(x), y) / accum_steps).backward()
            if max_norm is not None:
                clip_grad_norm_(model_params, max_norm)
        opt.step()
        opt.zero_grad()
        window = []
    return count
