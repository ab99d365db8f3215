# mistakes: moments-not-restored, gradients-left, nan-only
# lines: 11, 32, 23
# hidden:
import copy
import math


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    # 나중에 되돌릴 것들
    model_before = copy.deepcopy(model.state_dict())
    opt_before = opt.state_dict()

    result = []
    try:
        for i, lr in enumerate(lrs):
            xb, yb = batches[i % len(batches)]
            for g in opt.param_groups:
                g["lr"] = lr

            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            value = loss.item()
            if math.isnan(value):
                break
            result.append(value)

            loss.backward()
            opt.step()
    finally:
        model.load_state_dict(model_before)
        opt.load_state_dict(opt_before)
        opt.zero_grad()
    return result
