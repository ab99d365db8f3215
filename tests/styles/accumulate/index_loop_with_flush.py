import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps must be >= 1")
    micro_batches = list(micro_batches)
    n = len(micro_batches)
    steps = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches):
        start = i // accum_steps * accum_steps
        window = min(accum_steps, n - start)
        loss = loss_fn(model(xb), yb) / window
        loss.backward()
        if (i + 1) % accum_steps == 0 or i + 1 == n:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            steps += 1
    return steps
