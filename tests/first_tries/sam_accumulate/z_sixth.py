# mistakes: clips-first-pass-only, leftover-divided-by-full, returns-perturbed-loss
# lines: 24, 31, 32
# hidden:
from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    stream = iter(micro_batches)
    segment_losses = []
    sam.zero_grad()

    while True:
        segment = list(islice(stream, accum_steps))
        if not segment:
            return segment_losses

        # 첫 번째 패스
        for xb, yb in segment:
            loss = loss_fn(model(xb), yb) / len(segment)
            loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.first_step(zero_grad=True)

        # 두 번째 패스
        collected = 0.0
        for xb, yb in segment:
            loss = loss_fn(model(xb), yb)
            (loss / accum_steps).backward()
            collected += loss.item()
        sam.second_step(zero_grad=True)

        segment_losses.append(collected / len(segment))
