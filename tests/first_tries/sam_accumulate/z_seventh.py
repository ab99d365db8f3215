# mistakes: last-batch-only, zero-norm-ignored
# lines: 33, 15
# hidden:
from itertools import islice

import torch
from torch import nn


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    stream = iter(micro_batches)
    parameters_to_clip = [p for group in sam.param_groups for p in group["params"]]

    def clip_if_asked():
        if max_norm:
            nn.utils.clip_grad_norm_(parameters_to_clip, max_norm)

    section_losses = []
    while True:
        section = list(islice(stream, accum_steps))
        if not section:
            return section_losses

        sam.zero_grad()
        mean_loss = 0.0
        for xb, yb in section:
            loss = loss_fn(model(xb), yb) / len(section)
            loss.backward()
            mean_loss += loss.item()
        sam.first_step(zero_grad=True)

        # 올라간 곳에서 다시
        loss_fn(model(xb), yb).backward()
        clip_if_asked()
        sam.second_step(zero_grad=True)
        section_losses.append(mean_loss)
