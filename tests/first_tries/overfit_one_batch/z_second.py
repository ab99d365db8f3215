# mistakes: restores-top-only
# lines: 9
# hidden:
import torch


def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    measured: list[float] = []
    was_training = model.training

    def measure():
        loss = loss_fn(model(xb), yb)
        measured.append(loss.item())
        return loss

    model.train()
    opt.zero_grad()
    try:
        remaining = max_steps
        while remaining > 0:
            loss = measure()
            if measured[-1] <= target:
                break
            loss.backward()
            opt.step()
            opt.zero_grad()
            remaining -= 1
    finally:
        # 원래 모드로
        model.train(was_training)
        opt.zero_grad()
    return measured
