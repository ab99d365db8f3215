# mistakes: no-accum-check, leftover-scaled-upside-down, leftover-not-clipped
# lines: 8, 29, 32
# hidden:
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 0:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    params = [p for g in opt.param_groups for p in g["params"]]
    모은_개수 = 0
    업데이트_횟수 = 0

    for xb, yb in micro_batches:
        loss = loss_fn(model(xb), yb)
        (loss / accum_steps).backward()
        모은_개수 += 1
        if 모은_개수 == accum_steps:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(params, max_norm)
            opt.step()
            opt.zero_grad()
            업데이트_횟수 += 1
            모은_개수 = 0

    # 마지막 구간이 짧을 때
    if 모은_개수 > 0:
        배율 = 모은_개수 / accum_steps
        for p in params:
            if p.grad is not None:
                p.grad.mul_(배율)
        opt.step()
        opt.zero_grad()
        업데이트_횟수 += 1
    model.zero_grad()
    return 업데이트_횟수
