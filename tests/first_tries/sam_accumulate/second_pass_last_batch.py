# mistakes: rounded-loss, last-batch-only, missing-zero-grad-after-step, leftover-loss-divided-by-full
# lines: 24, 29, 32, 24

from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    it = iter(micro_batches)
    window_losses = []

    while True:
        window = list(islice(it, accum_steps))
        if not window:
            break

        running = 0.0
        for xb, yb in window:
            pred = model(xb)
            loss = loss_fn(pred, yb)
            (loss / len(window)).backward()
            running += loss.item()
        window_losses.append(round(running / accum_steps, 4))

        sam.first_step(zero_grad=True)

        # 섭동된 가중치에서 다시 계산
        loss_fn(model(xb), yb).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step()

    return window_losses
