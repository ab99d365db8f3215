# mistakes: leftover-not-divided, count-not-reset, mixes-given-gradients
# lines: 38, 34, 11
# hidden:
import torch


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    number_of_updates = 0
    collected_in_window = 0
    samples_in_window = 0

    def backward_sum(xb, yb):
        # 평균 손실 × 샘플 수 = 합. 나중에 구간의 샘플 수로 나눈다.
        (loss_fn(model(xb), yb) * len(xb)).backward()
        return len(xb)

    def divide_gradients(count):
        for group in opt.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= count

    for xb, yb in micro_batches:
        samples_in_window += backward_sum(xb, yb)
        collected_in_window += 1
        if collected_in_window == accum_steps:
            divide_gradients(samples_in_window)
            opt.step()
            opt.zero_grad()
            number_of_updates += 1
            collected_in_window = 0

    # 남은 짧은 구간
    if collected_in_window > 0:
        opt.step()
        opt.zero_grad()
        number_of_updates += 1

    return number_of_updates
