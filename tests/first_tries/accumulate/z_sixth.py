# mistakes: leftover-averaged-after-clip
# lines: 29
# hidden:
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    def clip():
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    updates = 0
    waiting = 0  # 아직 업데이트에 쓰지 않은 마이크로 배치
    for xb, yb in micro_batches:
        (loss_fn(model(xb), yb) / accum_steps).backward()
        waiting += 1
        if waiting == accum_steps:
            clip()
            opt.step()
            opt.zero_grad()
            updates += 1
            waiting = 0

    if waiting:
        # 마지막 구간: accum_steps로 나눴던 것을 실제 개수로 고친다
        clip()
        for p in model.parameters():
            if p.grad is not None:
                p.grad.mul_(accum_steps / waiting)
        opt.step()
        opt.zero_grad()
        updates += 1

    model.zero_grad()
    return updates
