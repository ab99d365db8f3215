# mistakes: rate-of-first-group-only, stops-at-large-loss, moments-not-restored
# lines: 38, 33, 11
# hidden:
import math

import torch


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    weights_before = {k: v.clone() for k, v in model.state_dict().items()}
    opt_before = opt.state_dict()

    def clear_grads():
        opt.zero_grad()
        for p in model.parameters():
            p.grad = None

    def put_back():
        model.load_state_dict(weights_before)
        opt.load_state_dict(opt_before)
        clear_grads()

    losses = []
    best = float("inf")
    try:
        for i, lr in enumerate(lrs):
            xb, yb = batches[i % len(batches)]
            clear_grads()
            loss = loss_fn(model(xb), yb)
            value = loss.item()
            if not math.isfinite(value):
                break
            if value > 4 * best:
                # 발산하기 시작했다
                break
            best = min(best, value)
            losses.append(value)
            opt.param_groups[0]["lr"] = lr
            loss.backward()
            opt.step()
        return losses
    finally:
        put_back()
