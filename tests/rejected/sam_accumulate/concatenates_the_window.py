# expect: joins-the-window+zero-norm-ignored
from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    out = []
    it = iter(micro_batches)
    while True:
        window = list(islice(it, accum_steps))
        if not window:
            return out
        xb = torch.cat([x for x, _ in window])
        yb = torch.cat([y for _, y in window])
        sam.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        sam.first_step(zero_grad=True)
        loss_fn(model(xb), yb).backward()
        if max_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        out.append(loss.item())
