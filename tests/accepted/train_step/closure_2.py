import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    @torch.enable_grad()
    def recompute():
        opt.zero_grad()
        value = loss_fn(model(xb), yb)
        value.backward()
        return value

    before_update = opt.step(recompute)
    return before_update.item()
