# mistakes: accum-steps-not-checked, mixes-given-gradients, mean-of-means
# lines: 10, 13, 32
# hidden:
from itertools import islice

import torch


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 0:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    stream = iter(micro_batches)
    number_of_updates = 0
    while True:
        window = list(islice(stream, accum_steps))
        if not window:
            break

        if len(window) == accum_steps:
            # 꽉 찬 구간
            samples_in_window = sum(len(xb) for xb, _ in window)
            for xb, yb in window:
                loss = loss_fn(model(xb), yb)
                (loss * len(xb) / samples_in_window).backward()
            opt.step()
            opt.zero_grad()
        else:
            # 짧은 마지막 구간
            for xb, yb in window:
                loss = loss_fn(model(xb), yb)
                (loss / len(window)).backward()
            opt.step()
            opt.zero_grad()
        number_of_updates += 1
    return number_of_updates
