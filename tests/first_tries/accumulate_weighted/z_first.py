# mistakes: accum-steps-not-checked, count-not-reset, mixes-given-gradients
# lines: 8, 12, 11
# hidden:
import torch


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if not accum_steps:
        raise ValueError("accum_steps")

    count = 0       # 구간에 들어온 마이크로 배치
    samples = 0     # 샘플 수
    updates = 0

    def flush():
        # 합에서 구한 그레이디언트를 샘플 수로 나눠 평균으로
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(samples)
        opt.step()
        model.zero_grad()
        opt.zero_grad()

    for xb, yb in micro_batches:
        size = len(xb)
        (loss_fn(model(xb), yb) * size).backward()
        samples += size
        count += 1
        if count == accum_steps:
            flush()
            updates += 1
            count = 0

    if count:
        flush()
        updates += 1

    return updates
