# mistakes: moments-not-restored, misses-minus-inf, gradients-left
# lines: 9, 12, 21
# hidden:
import copy


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    weights_before = copy.deepcopy(model.state_dict())
    opt_before = opt.state_dict()

    def exploded(value):
        return value != value or value == float("inf")

    def set_lr(lr):
        for group in opt.param_groups:
            group["lr"] = lr

    def put_everything_back():
        model.load_state_dict(weights_before)
        opt.load_state_dict(opt_before)
        opt.zero_grad()

    losses = []
    try:
        for turn, lr in enumerate(lrs):
            xb, yb = batches[turn % len(batches)]
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            measured = loss.item()
            if exploded(measured):
                break
            losses.append(measured)
            loss.backward()
            set_lr(lr)
            opt.step()
    finally:
        put_everything_back()
    return losses
