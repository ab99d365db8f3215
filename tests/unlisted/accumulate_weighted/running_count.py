# mistakes: 구간 전체가 아니라 그때까지 본 샘플 수로 나눔
# lines: 20
from itertools import islice


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    it = iter(micro_batches)
    updates = 0
    opt.zero_grad()
    while True:
        window = list(islice(it, accum_steps))
        if not window:
            break
        seen = 0
        for xb, yb in window:
            seen += len(xb)
            loss = loss_fn(model(xb), yb)
            (loss * len(xb) / seen).backward()
        opt.step()
        opt.zero_grad()
        updates += 1
    return updates
