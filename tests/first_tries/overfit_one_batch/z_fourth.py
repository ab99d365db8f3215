# mistakes: restores-top-only, strict-comparison, leaves-gradients
# lines: 8, 24, 27
# hidden:
import torch


def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    이전_모드 = model.training

    def clear():
        opt.zero_grad()
        model.zero_grad()

    def one_loss():
        clear()
        return loss_fn(model(xb), yb)

    measured = []
    model.train()
    try:
        while len(measured) < max_steps:
            loss = one_loss()
            measured.append(loss.item())
            if measured[-1] < target:
                return measured
            loss.backward()
            opt.step()
        return measured
    finally:
        model.train(이전_모드)
