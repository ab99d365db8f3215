# mistakes: 돌려줄 손실에 둘째 패스의 손실도 더함
# lines: 26
from itertools import islice

from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    it = iter(micro_batches)
    history = []
    sam.zero_grad()
    while True:
        window = list(islice(it, accum_steps))
        if not window:
            return history
        n = len(window)
        mean = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / n
            loss.backward()
            mean += loss.item()
        sam.first_step(zero_grad=True)
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / n
            loss.backward()
            mean += loss.item()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        history.append(mean)
