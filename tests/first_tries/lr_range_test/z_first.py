# mistakes: moments-not-restored, rate-of-first-group-only, keeps-nonfinite-loss
# lines: 13, 23, 27
# hidden:
import copy
import math

import torch


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    # 돌려놓을 것들
    model_backup = copy.deepcopy(model.state_dict())
    opt_backup = opt.state_dict()

    def no_grads():
        model.zero_grad(set_to_none=True)
        opt.zero_grad(set_to_none=True)

    result = []
    try:
        for i, lr in enumerate(lrs):
            xb, yb = batches[i % len(batches)]
            opt.param_groups[0]["lr"] = lr

            no_grads()
            loss = loss_fn(model(xb), yb)
            result.append(loss.item())
            if not math.isfinite(result[-1]):
                break  # 발산
            loss.backward()
            opt.step()
    finally:
        model.load_state_dict(model_backup)
        opt.load_state_dict(opt_backup)
        no_grads()

    return result
