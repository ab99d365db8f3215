# mistakes: restores-from-reference, rate-of-first-group-only, gradients-left, restores-only-at-the-end
# lines: 9, 14, 23, 22
# hidden:
import copy
import math


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    model_state = model.state_dict()
    opt_state = copy.deepcopy(opt.state_dict())
    losses = []
    for i, lr in enumerate(lrs):
        x, y = batches[i % len(batches)]
        opt.param_groups[0]["lr"] = lr
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        if not math.isfinite(loss.item()):
            break
        losses.append(loss.item())
        loss.backward()
        opt.step()
    model.load_state_dict(model_state)
    opt.load_state_dict(opt_state)
    return losses
