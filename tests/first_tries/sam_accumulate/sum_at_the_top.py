# mistakes: no-division|second-pass-not-divided, returns-perturbed-loss, returns-sum
# lines: 18, 19, 23
import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    result = []

    def update(window):
        sam.zero_grad()
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        sam.first_step(zero_grad=True)

        total = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            total += loss.item()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        result.append(total)

    window = []
    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            update(window)
            window = []
    if window:
        update(window)
    return result
