# mistakes: 구간을 자르는 끝이 하나 모자라서 구간마다 마이크로 배치 하나를 빠뜨림
# lines: 13
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps must be at least 1")
    data = list(micro_batches)
    opt.zero_grad()
    n = 0
    for i in range(0, len(data), accum_steps):
        chunk = data[i : i + accum_steps - 1] or data[i:]
        for x, y in chunk:
            out = model(x)
            loss = loss_fn(out, y) / len(chunk)
            loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        n += 1
    return n
