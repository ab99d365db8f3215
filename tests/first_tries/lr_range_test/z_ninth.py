# mistakes: gradients-left-without-rates, rate-of-first-group-only, stops-at-large-loss
# lines: 10, 20, 38
# hidden:
import copy
import math


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    if not lrs:
        return []

    model_before = copy.deepcopy(model.state_dict())
    opt_before = copy.deepcopy(opt.state_dict())

    def clear():
        model.zero_grad()
        opt.zero_grad()

    def use_lr(lr):
        opt.param_groups[0]["lr"] = lr

    def put_everything_back():
        model.load_state_dict(model_before)
        opt.load_state_dict(opt_before)
        clear()

    losses = []
    try:
        for i, lr in enumerate(lrs):
            xb, yb = batches[i % len(batches)]
            clear()
            use_lr(lr)
            loss = loss_fn(model(xb), yb)
            value = loss.item()
            if not math.isfinite(value):
                break
            # 발산하기 시작하면 더 볼 것이 없다
            if losses and value > 4 * min(losses):
                break
            losses.append(value)
            loss.backward()
            opt.step()
    finally:
        put_everything_back()
    return losses
