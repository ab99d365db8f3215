# mistakes: no-accum-check, clip-every-micro-batch, steps-on-first, leaks-leftover|drops-leftover
# lines: 7, 12, 14, 18
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    count = 0
    for i, (xb, yb) in enumerate(micro_batches):
        logits = model(xb)
        loss = loss_fn(logits, yb) / accum_steps
        loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        if i % accum_steps == 0:
            opt.step()
            opt.zero_grad()
            count += 1
    return count
