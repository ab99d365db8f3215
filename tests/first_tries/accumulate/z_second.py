# mistakes: leftover-not-clipped
# lines: 34
# hidden:
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    def average_gradients(count):
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(count)

    number_of_updates = 0
    in_window = 0
    for xb, yb in micro_batches:
        loss = loss_fn(model(xb), yb)
        loss.backward()
        in_window += 1
        if in_window == accum_steps:
            # 꽉 찬 구간
            average_gradients(in_window)
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            model.zero_grad()
            number_of_updates += 1
            in_window = 0

    if in_window > 0:
        # 모자란 마지막 구간
        average_gradients(in_window)
        opt.step()
        model.zero_grad()
        number_of_updates += 1

    return number_of_updates
