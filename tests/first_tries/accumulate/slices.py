# mistakes: zero-grad-every-micro-batch, leaves-gradients|missing-zero-grad-after-step
# lines: 13, 20
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상")
    batches = list(micro_batches)
    windows = [batches[s : s + accum_steps] for s in range(0, len(batches), accum_steps)]
    for window in windows:
        for xb, yb in window:
            opt.zero_grad()
            logits = model(xb)
            loss = loss_fn(logits, yb) / len(window)
            loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    return len(windows)
