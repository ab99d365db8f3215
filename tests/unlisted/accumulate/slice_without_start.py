# mistakes: 둘째 구간부터 자르는 끝이 start + accum_steps가 아니라 accum_steps라서 비어 있음
# lines: 13
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError(f"accum_steps는 1 이상이어야 해요: {accum_steps}")
    batches = list(micro_batches)
    updates = 0
    opt.zero_grad()
    for start in range(0, len(batches), accum_steps):
        window = batches[start:accum_steps]
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / len(window)).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        updates += 1
    return updates
