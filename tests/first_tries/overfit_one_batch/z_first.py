# mistakes: stops-at-nan, restores-top-only
# lines: 21, 27
# hidden:
import torch


def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    was_training = model.training
    curve = []
    model.train()

    def clear():
        model.zero_grad()
        opt.zero_grad()

    try:
        while len(curve) < max_steps:
            clear()
            loss = loss_fn(model(xb), yb)
            curve.append(loss.item())
            if not curve[-1] > target:
                break
            loss.backward()
            opt.step()
    finally:
        clear()
        model.train(was_training)

    return curve
