# mistakes: leftover-divided-by-full, keeps-first-gradient, zero-norm-ignored
# lines: 15, 28, 30
# hidden:
from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    def one_pass(segment):
        """구간 전체의 그레이디언트를 쌓고 평균 손실을 돌려준다."""
        total = 0.0
        for xb, yb in segment:
            loss = loss_fn(model(xb), yb)
            (loss / accum_steps).backward()
            total += loss.item()
        return total / len(segment)

    losses = []
    iterator = iter(micro_batches)
    while True:
        segment = list(islice(iterator, accum_steps))
        if not segment:
            return losses

        sam.zero_grad()
        losses.append(one_pass(segment))
        sam.first_step()
        one_pass(segment)
        if max_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
