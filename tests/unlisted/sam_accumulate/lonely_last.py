# mistakes: 마지막 구간에 마이크로 배치가 하나만 남으면 버림 (> 0 이 아니라 > 1)
# lines: 29
from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    def update(window):
        sam.zero_grad()
        total = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / len(window)).backward()
            total += loss.item()
        sam.first_step(zero_grad=True)
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        return total / len(window)

    losses = []
    window = []
    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            losses.append(update(window))
            window = []
    if len(window) > 1:
        losses.append(update(window))
    return losses
