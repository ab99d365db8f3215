# mistakes: needs-len, drops-leftover, no-division, leaves-gradients
# lines: 10, 10, 16, 20
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps must be at least 1")

    n_updates = len(micro_batches) // accum_steps
    for u in range(n_updates):
        opt.zero_grad()
        window = micro_batches[u * accum_steps : (u + 1) * accum_steps]
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    return n_updates
