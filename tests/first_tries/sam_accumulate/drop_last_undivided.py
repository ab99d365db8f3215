# mistakes: drops-leftover, second-pass-not-divided|no-division, returns-last-loss
# lines: 12, 26, 20

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    results = []
    buffer = []
    for xb, yb in micro_batches:
        buffer.append((xb, yb))
        if len(buffer) < accum_steps:
            continue

        # --- pass 1: gradient at w ---
        sam.zero_grad()
        for x, y in buffer:
            loss = loss_fn(model(x), y)
            (loss / accum_steps).backward()
        results.append(loss.item())
        sam.first_step(zero_grad=True)

        # --- pass 2: gradient at w + e ---
        for x, y in buffer:
            loss2 = loss_fn(model(x), y)
            loss2.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        buffer = []

    return results
