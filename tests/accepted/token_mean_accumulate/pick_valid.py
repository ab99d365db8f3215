import math

import torch


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    window = [(x, y, y.ne(ignore_index)) for x, y in micro_batches]
    valid = sum(int(mask.sum()) for *_, mask in window)
    if not valid:
        raise ValueError("the window has no valid token")

    opt.zero_grad()
    parts = []
    for x, y, mask in window:
        if not mask.any():
            continue  # adds nothing to the sum
        chosen = model(x)[mask].log_softmax(dim=-1)
        share = chosen.gather(1, y[mask].unsqueeze(1)).sum().neg() / valid
        share.backward()
        parts.append(share.item())
    opt.step()
    return math.fsum(parts)
