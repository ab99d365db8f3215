# mistakes: forces-train-mode, no-division|second-pass-not-divided, clips-each-micro-batch, returns-last-loss, returns-tensor
# lines: 7, 22, 24, 26, 26
from torch import nn


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    model.train()
    batches = list(micro_batches)
    out = []
    for start in range(0, len(batches), accum_steps):
        window = batches[start : start + accum_steps]

        # pass 1: climb
        sam.zero_grad()
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            loss.backward()
        sam.first_step(zero_grad=True)

        # pass 2: update
        for xb, yb in window:
            loss_fn(model(xb), yb).backward()
            if max_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        out.append(loss.detach())
    return out
