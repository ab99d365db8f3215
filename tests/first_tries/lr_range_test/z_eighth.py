# mistakes: rate-of-first-group-only, ctrl-c-not-restored, gradients-left
# lines: 22, 32, 18
# hidden:
import copy
import math

import torch


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    saved_model = copy.deepcopy(model.state_dict())
    saved_opt = copy.deepcopy(opt.state_dict())
    losses = []

    def restore():
        model.load_state_dict(saved_model)
        opt.load_state_dict(saved_opt)
        opt.zero_grad()

    try:
        for i, lr in enumerate(lrs):
            opt.param_groups[0]["lr"] = lr
            xb, yb = batches[i % len(batches)]
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            value = loss.item()
            if not math.isfinite(value):
                break
            losses.append(value)
            loss.backward()
            opt.step()
    except Exception:
        restore()
        raise
    restore()
    return losses
