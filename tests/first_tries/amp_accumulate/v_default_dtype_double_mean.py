# mistakes: ignores-dtype, missing-zero-grad, clip-every-micro-batch, divides-loss-twice
# lines: 19, 17, 24, 32
# hidden:
import torch
from torch import nn


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches)
    losses = []

    def backward(value):
        if scaler is not None:
            value = scaler.scale(value)
        value.backward()

    for i in range(n):
        x, y = micro_batches[i]
        with torch.autocast(x.device.type):
            loss = loss_fn(model(x), y) / n
        backward(loss)
        losses.append(loss.item())
        if max_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    # 구간이 끝나고 한 번
    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return sum(losses) / len(losses)
