# mistakes: count-not-reset, leftover-not-divided, mixes-given-gradients
# lines: 33, 35, 22
# hidden:
import torch


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    def backward_one(xb, yb):
        # 평균 손실에 샘플 수를 곱하면 합이 된다
        loss = loss_fn(model(xb), yb)
        (loss * len(xb)).backward()
        return len(xb)

    def divide_grads(count):
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(count)

    updates = 0
    in_section = 0
    samples = 0
    for xb, yb in micro_batches:
        samples += backward_one(xb, yb)
        in_section += 1
        if in_section == accum_steps:
            divide_grads(samples)
            opt.step()
            model.zero_grad()
            updates += 1
            in_section = 0

    if in_section > 0:
        # 남은 것도 업데이트
        opt.step()
        model.zero_grad()
        updates += 1
    return updates
