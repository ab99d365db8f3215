# mistakes: no-accum-check, one-backward-per-window, clip-by-value, leaves-gradients
# lines: 7, 23, 29, 32
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps == 0:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    stream = iter(micro_batches)
    count = 0
    more = True
    while more:
        opt.zero_grad()
        window_loss = 0
        size = 0
        while size < accum_steps:
            try:
                xb, yb = next(stream)
            except StopIteration:
                more = False
                break
            window_loss = window_loss + loss_fn(model(xb), yb)
            size += 1
        if size == 0:
            break
        (window_loss / size).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)
        opt.step()
        count += 1
    return count
