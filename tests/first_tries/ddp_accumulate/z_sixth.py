# mistakes: reduces-every-time, divides-loss-twice
# lines: 23, 34
# hidden:
from contextlib import nullcontext

import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    queue = list(micro_batches)
    if not queue:
        raise ValueError("마이크로 배치가 없습니다")
    how_many = len(queue)
    recorded_losses = []
    opt.zero_grad()

    def is_last(position):
        return position == how_many - 1

    position = 0
    while position < how_many:
        features, answers = queue[position]
        loss = loss_fn(ddp(features), answers) / how_many
        # 통신은 역전파에서 일어나니까 역전파만 감싼다
        with nullcontext() if is_last(position) else ddp.no_sync():
            loss.backward()
        recorded_losses.append(loss.item())
        position += 1

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(ddp.module.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    return sum(recorded_losses) / how_many
