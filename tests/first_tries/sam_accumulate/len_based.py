# mistakes: consumes-generator, leftover-divided-by-full, clips-each-micro-batch, returns-perturbed-loss
# lines: 7, 21, 23, 24
import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    n = len(micro_batches)
    window, result = [], []
    for i, batch in enumerate(micro_batches, start=1):
        window.append(batch)
        if i % accum_steps != 0 and i != n:
            continue
        sam.zero_grad()
        for xb, yb in window:
            l1 = loss_fn(model(xb), yb) / len(window)
            l1.backward()
        sam.first_step(zero_grad=True)
        total = 0.0
        for xb, yb in window:
            l2 = loss_fn(model(xb), yb)
            (l2 / accum_steps).backward()
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            total += l2.item()
        sam.second_step(zero_grad=True)
        result.append(total / len(window))
        window = []
    return result
