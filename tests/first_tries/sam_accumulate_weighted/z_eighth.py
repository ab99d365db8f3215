# mistakes: clips-first-pass-only, returns-mean-of-means, uses-stale-gradient
# lines: 30, 19, 22
# hidden:
import itertools

import torch


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    def one_pass(window):
        # 구간의 마이크로 배치를 하나씩 보고 그레이디언트를 모은다
        total = sum(len(xb) for xb, _ in window)
        losses = []
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss * len(xb) / total).backward()
            losses.append(loss.item())
            del loss
        return sum(losses) / len(losses)

    history = []
    stream = iter(micro_batches)
    while True:
        window = list(itertools.islice(stream, accum_steps))
        if not window:
            break
        loss_at_w = one_pass(window)
        if max_norm is not None:
            params = [p for group in sam.param_groups for p in group["params"]]
            torch.nn.utils.clip_grad_norm_(params, max_norm)
        sam.first_step(zero_grad=True)
        one_pass(window)
        sam.second_step(zero_grad=True)
        history.append(loss_at_w)
    return history
