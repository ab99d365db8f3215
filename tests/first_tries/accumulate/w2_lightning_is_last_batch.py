# mistakes: needs-len, no-division, clip-by-value, leftover-not-counted
# lines: 13, 18, 23, 27
# hidden:
import torch
from torch import nn


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps must be >= 1")

    opt.zero_grad()
    num_batches = len(micro_batches)

    for batch_idx, batch in enumerate(micro_batches):
        x, y = batch
        loss = loss_fn(model(x), y)
        loss.backward()

        is_last_batch = batch_idx + 1 == num_batches
        if (batch_idx + 1) % accum_steps == 0 or is_last_batch:
            if max_norm is not None:
                nn.utils.clip_grad_value_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()

    return num_batches // accum_steps
