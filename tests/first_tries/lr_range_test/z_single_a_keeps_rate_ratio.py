# mistakes: keeps-rate-ratio
# lines: 10
# hidden:
import copy
import math


def _set_lr(opt, base_lrs, lr):
    for group, base in zip(opt.param_groups, base_lrs):
        group["lr"] = lr * base / base_lrs[0] if base_lrs[0] else lr


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    base_lrs = [group["lr"] for group in opt.param_groups]
    saved_model = copy.deepcopy(model.state_dict())
    saved_opt = copy.deepcopy(opt.state_dict())
    losses = []
    try:
        for i, lr in enumerate(lrs):
            xb, yb = batches[i % len(batches)]
            _set_lr(opt, base_lrs, lr)
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            if not math.isfinite(loss.item()):
                break
            losses.append(loss.item())
            loss.backward()
            opt.step()
    finally:
        model.load_state_dict(saved_model)
        opt.load_state_dict(saved_opt)
        for p in model.parameters():
            p.grad = None
    return losses
