# mistakes: mixes-given-gradients, count-not-reset
# lines: 13, 28
# hidden:
import torch


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    updates = 0
    in_window = 0
    samples = 0
    for xb, yb in micro_batches:
        n = len(xb)
        loss = loss_fn(model(xb), yb)
        (loss * n).backward()
        del loss
        samples += n
        in_window += 1
        if in_window == accum_steps:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad /= samples
            opt.step()
            opt.zero_grad()
            updates += 1
            in_window = 0

    # 남은 마이크로 배치
    if in_window > 0:
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= samples
        opt.step()
        updates += 1

    opt.zero_grad()
    model.zero_grad()
    return updates
