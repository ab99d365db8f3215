# mistakes: 마이크로 배치가 하나만 남은 마지막 구간을 버림(> 0이 아니라 > 1)
# lines: 27
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps must be at least 1")
    steps = 0
    window = []

    def flush():
        opt.zero_grad()
        for x, y in window:
            (loss_fn(model(x), y) / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()

    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            flush()
            window.clear()
            steps += 1
    if len(window) > 1:
        flush()
        steps += 1
    return steps
