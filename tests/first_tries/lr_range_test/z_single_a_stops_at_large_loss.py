# mistakes: stops-at-large-loss
# lines: 24
# hidden:
import copy
import math


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    model_before = copy.deepcopy(model.state_dict())
    opt_before = copy.deepcopy(opt.state_dict())
    losses = []
    try:
        for i, lr in enumerate(lrs):
            xb, yb = batches[i % len(batches)]
            for group in opt.param_groups:
                group["lr"] = lr
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            value = loss.item()
            if not math.isfinite(value):
                break
            losses.append(value)
            if value > 4 * min(losses):
                break
            loss.backward()
            opt.step()
    finally:
        model.load_state_dict(model_before)
        opt.load_state_dict(opt_before)
        for p in model.parameters():
            p.grad = None
    return losses
