# mistakes: moments-not-restored, nan-only, ctrl-c-not-restored
# lines: 13, 34, 40
# hidden:
import copy
import math

import torch


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    # 부르기 전의 상태를 적어 둔다
    model_before = copy.deepcopy(model.state_dict())
    opt_before = opt.state_dict()

    def forget_gradients():
        opt.zero_grad(set_to_none=True)
        model.zero_grad(set_to_none=True)

    def restore_everything():
        model.load_state_dict(model_before)
        opt.load_state_dict(opt_before)
        forget_gradients()

    recorded = []
    try:
        i = 0
        while i < len(lrs):
            xb, yb = batches[i % len(batches)]
            for group in opt.param_groups:
                group["lr"] = lrs[i]
            forget_gradients()
            loss = loss_fn(model(xb), yb)
            value = loss.item()
            if math.isnan(value):
                break
            recorded.append(value)
            loss.backward()
            opt.step()
            i += 1
    except Exception:
        restore_everything()
        raise
    restore_everything()
    return recorded
