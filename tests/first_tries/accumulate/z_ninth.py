# mistakes: leftover-not-clipped
# lines: 33
# hidden:
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    def average_gradients(how_many):
        # 더해 온 그레이디언트를 개수로 나눈다
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(how_many)

    updates = 0
    waiting = 0
    for xb, yb in micro_batches:
        loss_fn(model(xb), yb).backward()
        waiting += 1
        if waiting == accum_steps:
            average_gradients(waiting)
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            model.zero_grad()
            updates += 1
            waiting = 0

    # 남은 것
    if waiting > 0:
        average_gradients(waiting)
        opt.step()
        model.zero_grad()
        updates += 1
    return updates
