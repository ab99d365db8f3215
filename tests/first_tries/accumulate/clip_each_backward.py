# mistakes: leftover-divided-by-full, clip-every-micro-batch
# lines: 17, 20
import torch
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps must be at least 1")

    optimizer_steps = 0
    in_window = 0
    params = [p for p in model.parameters() if p.requires_grad]

    for inputs, targets in micro_batches:
        outputs = model(inputs)
        loss = loss_fn(outputs, targets) / accum_steps
        loss.backward()
        if max_norm is not None:
            clip_grad_norm_(params, max_norm)
        in_window += 1
        if in_window == accum_steps:
            opt.step()
            opt.zero_grad()
            optimizer_steps += 1
            in_window = 0

    # 마지막에 남은 것 처리
    if in_window > 0:
        opt.step()
        opt.zero_grad()
        optimizer_steps += 1
    return optimizer_steps
