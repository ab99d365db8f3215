# mistakes: moments-not-restored
# lines: 10
# hidden:
import copy
import math


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    start = copy.deepcopy(model.state_dict())
    old_lrs = [group["lr"] for group in opt.param_groups]
    losses = []
    try:
        position = 0
        for lr in lrs:
            xb, yb = batches[position]
            position = (position + 1) % len(batches)
            for group in opt.param_groups:
                group["lr"] = lr
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            if not math.isfinite(loss.item()):
                break
            losses.append(loss.item())
            loss.backward()
            opt.step()
    finally:
        model.load_state_dict(start)
        # 시험하며 쌓인 모멘텀을 버립니다
        opt.state.clear()
        for group, lr in zip(opt.param_groups, old_lrs):
            group["lr"] = lr
        for p in model.parameters():
            p.grad = None
    return losses
