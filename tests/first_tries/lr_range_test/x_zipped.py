# mistakes: gradients-left, stops-with-batches, keeps-nonfinite-loss
# lines: 24, 12, 17
# hidden:
import copy
import math


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    saved = copy.deepcopy(model.state_dict()), copy.deepcopy(opt.state_dict())
    out = []
    try:
        for (xb, yb), lr in zip(batches, lrs):
            for group in opt.param_groups:
                group["lr"] = lr
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            out.append(loss.item())
            if math.isnan(out[-1]) or math.isinf(out[-1]):
                break
            loss.backward()
            opt.step()
    finally:
        model.load_state_dict(saved[0])
        opt.load_state_dict(saved[1])
    return out
