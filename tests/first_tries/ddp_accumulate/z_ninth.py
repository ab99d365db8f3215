# mistakes: reduces-every-time, clips-each, divides-loss-twice
# lines: 22, 25, 29
# hidden:
from contextlib import nullcontext

import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    batches = list(micro_batches)
    number_of_micro_batches = len(batches)
    if number_of_micro_batches == 0:
        raise ValueError("마이크로 배치가 없습니다")

    def context_for(index):
        is_last = index == number_of_micro_batches - 1
        return nullcontext() if is_last else ddp.no_sync()

    sum_of_losses = 0.0
    opt.zero_grad()
    for index, (x, y) in enumerate(batches):
        loss = loss_fn(ddp(x), y) / number_of_micro_batches
        with context_for(index):
            loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(ddp.module.parameters(), max_norm)
        sum_of_losses += loss.item()
    opt.step()
    return sum_of_losses / number_of_micro_batches
