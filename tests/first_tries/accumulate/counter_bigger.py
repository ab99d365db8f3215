# mistakes: leftover-divided-by-full, window-off-by-one, unlisted(leftover window not clipped)|no-clip
# lines: 15, 17, 27
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps must be >= 1")

    num_steps = 0
    cnt = 0          # 지금 구간에 쌓인 마이크로 배치의 수
    opt.zero_grad()
    for xb, yb in micro_batches:
        loss = loss_fn(model(xb), yb)
        (loss / accum_steps).backward()
        cnt += 1
        if cnt > accum_steps:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            num_steps += 1
            cnt = 0

    # 남은 것도 업데이트
    if cnt > 0:
        opt.step()
        opt.zero_grad()
        num_steps += 1
    return num_steps
