# expect: 
import math

import numpy as np
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps")
    batches = list(micro_batches)
    if not batches:
        return 0
    # 마지막 구간만 짧지 않게 나눕니다
    n_windows = math.ceil(len(batches) / accum_steps)
    for positions in np.array_split(np.arange(len(batches)), n_windows):
        for i in positions:
            xb, yb = batches[i]
            (loss_fn(model(xb), yb) / len(positions)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
    return n_windows
