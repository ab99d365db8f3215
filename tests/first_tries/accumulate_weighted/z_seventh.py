# mistakes: count-not-reset
# lines: 28
# hidden:
import torch


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    opt.zero_grad(set_to_none=True)
    model.zero_grad(set_to_none=True)
    updates = 0
    in_group = 0
    seen_samples = 0

    def flush():
        # 합으로 모은 그레이디언트를 샘플 수로 나누고 업데이트한다
        nonlocal updates, in_group
        for group in opt.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(seen_samples)
        opt.step()
        opt.zero_grad(set_to_none=True)
        model.zero_grad(set_to_none=True)
        updates += 1
        in_group = 0

    for xb, yb in micro_batches:
        size = len(xb)
        mean_loss = loss_fn(model(xb), yb)
        (mean_loss * size).backward()
        seen_samples += size
        in_group += 1
        if in_group == accum_steps:
            flush()

    if in_group > 0:
        flush()
    return updates
