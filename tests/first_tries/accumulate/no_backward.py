# mistakes: no-accum-check, no-division, missing-backward, returns-micro-count
# lines: 8, 16, 16, 23
# hidden: no-division
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    stack = []          # 아직 업데이트하지 않은 마이크로 배치
    n = 0

    def one_update():
        opt.zero_grad()
        total = 0
        for xb, yb in stack:
            total = total + loss_fn(model(xb), yb)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()

    for batch in micro_batches:
        stack.append(batch)
        n += 1
        if len(stack) == accum_steps:
            one_update()
            stack.clear()
    if stack:
        one_update()
    return n
