# mistakes: no-accum-check, forces-train-mode, backward-last-only, drops-leftover
# lines: 7, 7, 15, 21
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    model.train()
    n = 0
    opt.zero_grad()
    for i, batch in enumerate(micro_batches):
        xb, yb = batch
        loss = loss_fn(model(xb), yb)
        loss = loss / accum_steps
        if (i + 1) % accum_steps == 0:
            loss.backward()
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            n += 1
    return n
