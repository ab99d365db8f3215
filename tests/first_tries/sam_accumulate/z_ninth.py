# mistakes: leftover-divided-by-full, returns-perturbed-loss, zero-norm-ignored
# lines: 15, 30, 26
# hidden:
from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    stream = iter(micro_batches)
    take = lambda: list(islice(stream, accum_steps))  # noqa: E731

    def one(xb, yb):
        loss = loss_fn(model(xb), yb)
        (loss / accum_steps).backward()
        return loss.item()

    losses = []
    while window := take():
        sam.zero_grad()
        for stage in ("오르기", "내려오기"):
            mean = sum(one(xb, yb) for xb, yb in window) / len(window)
            if stage == "오르기":
                sam.first_step(zero_grad=True)
            else:
                if max_norm:
                    params = [p for g in sam.param_groups for p in g["params"]]
                    torch.nn.utils.clip_grad_norm_(params, max_norm)
                sam.second_step(zero_grad=True)
        losses.append(mean)
    return losses
