# mistakes: forces-train-mode, needs-len, steps-on-first
# lines: 15, 17, 25
import torch


def _average(params, count):
    for p in params:
        if p.grad is not None:
            p.grad.div_(count)


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError(f"bad accum_steps: {accum_steps}")
    model.train()
    params = list(model.parameters())
    total = len(micro_batches)
    count = 0
    steps = 0
    opt.zero_grad()
    for i, (x, y) in enumerate(micro_batches):
        loss_fn(model(x), y).backward()
        count += 1
        # 윈도우가 끝났거나 마지막 배치면 step
        if i % accum_steps == 0 or i == total - 1:
            _average(params, count)
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(params, max_norm)
            opt.step()
            opt.zero_grad()
            steps += 1
            count = 0
    return steps
