# mistakes: stops-at-nan
# lines: 16
# hidden:
import torch


def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    before = [(m, m.training) for m in model.modules()]
    losses = []

    def measure_and_update():
        """손실을 재고, 아직 크면 업데이트한다. 계속할지를 돌려준다."""
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        losses.append(loss.item())
        if losses[-1] > target:
            loss.backward()
            opt.step()
            return True
        return False

    try:
        model.train()
        keep_going = True
        while keep_going and len(losses) < max_steps:
            keep_going = measure_and_update()
    finally:
        for m, mode in before:
            m.training = mode
        opt.zero_grad()
    return losses
