# mistakes: uses-stale-gradient, update-not-weighted, returns-mean-of-means
# lines: 14, 32, 38
# hidden:
from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    stream_of_micro_batches = iter(micro_batches)
    loss_of_each_segment = []

    while True:
        current_segment = list(islice(stream_of_micro_batches, accum_steps))
        if not current_segment:
            return loss_of_each_segment

        samples_in_segment = sum(len(yb) for _, yb in current_segment)

        # 첫 번째 패스: w에서
        micro_losses = []
        for xb, yb in current_segment:
            loss = loss_fn(model(xb), yb)
            (loss * len(yb) / samples_in_segment).backward()
            micro_losses.append(loss.item())
        sam.first_step(zero_grad=True)

        # 두 번째 패스: w + e에서
        for xb, yb in current_segment:
            loss = loss_fn(model(xb), yb)
            (loss / len(current_segment)).backward()
        if max_norm is not None:
            everything = [p for group in sam.param_groups for p in group["params"]]
            clip_grad_norm_(everything, max_norm)
        sam.second_step(zero_grad=True)

        loss_of_each_segment.append(sum(micro_losses) / len(micro_losses))
