# mistakes: 짧은 마지막 구간도 업데이트하지만 횟수에 세지 않음
# lines: 22
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps must be at least 1")
    source = iter(micro_batches)
    steps = 0
    while True:
        window = [batch for _, batch in zip(range(accum_steps), source)]
        if not window:
            return steps
        opt.zero_grad()
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        steps += len(window) // accum_steps
