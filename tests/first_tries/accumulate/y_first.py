# mistakes: leftover-divided-by-full, clip-every-micro-batch, leaves-gradients
# lines: 14, 17, 28
# hidden:
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    updates = 0
    waiting = 0  # 아직 업데이트에 쓰지 않은 마이크로 배치 수
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) / accum_steps
        loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        waiting += 1

        if waiting == accum_steps:
            opt.step()
            model.zero_grad()
            updates += 1
            waiting = 0

    # 남은 구간
    if waiting > 0:
        opt.step()
        updates += 1

    return updates
