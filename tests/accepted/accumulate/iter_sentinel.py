from itertools import islice

from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError(f"accum_steps must be at least 1, got {accum_steps}")
    stream = iter(micro_batches)
    done = 0
    opt.zero_grad()
    for done, window in enumerate(iter(lambda: list(islice(stream, accum_steps)), []), start=1):
        share = 1 / len(window)
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            loss.backward(loss.new_tensor(share))
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
    return done
