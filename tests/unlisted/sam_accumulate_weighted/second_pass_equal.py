# mistakes: 둘째 패스에서만 샘플 수 대신 마이크로 배치 수로 나눔
# lines: 21
from itertools import islice

from torch.nn.utils import clip_grad_norm_


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    out = []
    stream = iter(micro_batches)
    sam.zero_grad()
    while window := list(islice(stream, accum_steps)):
        count = sum(len(xb) for xb, _ in window)
        mean = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) * len(xb) / count
            loss.backward()
            mean += loss.item()
        sam.first_step(zero_grad=True)
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / len(xb)
            loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        out.append(mean)
    return out
