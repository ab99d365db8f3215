# mistakes: 손실이 가장 낮던 것의 네 배를 넘으면 끝냄
# lines: 22
import copy
import math


def lr_range_test(model, opt, loss_fn, batches, lrs):
    saved = copy.deepcopy(model.state_dict())
    saved_opt = copy.deepcopy(opt.state_dict())
    losses = []
    try:
        for i, lr in enumerate(lrs):
            for g in opt.param_groups:
                g["lr"] = lr
            xb, yb = batches[i % len(batches)]
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
        model.load_state_dict(saved)
        opt.load_state_dict(saved_opt)
        for p in model.parameters():
            p.grad = None
    return losses
