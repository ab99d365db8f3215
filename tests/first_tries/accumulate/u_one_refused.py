# mistakes: refuses-one
# lines: 9
import itertools

from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps <= 1:
        raise ValueError("accum_steps가 너무 작습니다")
    it = iter(micro_batches)
    n = 0
    while True:
        window = list(itertools.islice(it, accum_steps))
        if not window:
            break
        opt.zero_grad()
        for x, y in window:
            loss = loss_fn(model(x), y) / len(window)
            loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        n += 1
    opt.zero_grad()
    return n
