# mistakes: returns-loss-after-update
# lines: 26
# hidden:
import torch


class _한_스텝:
    def __init__(self, model, loss_fn, xb, yb):
        self.model = model
        self.loss_fn = loss_fn
        self.batch = (xb, yb)

    def loss(self):
        xb, yb = self.batch
        return self.loss_fn(self.model(xb), yb)

    def update(self, opt):
        opt.zero_grad()
        self.loss().backward()
        opt.step()


def train_step(model, opt, loss_fn, xb, yb) -> float:
    스텝 = _한_스텝(model, loss_fn, xb, yb)
    스텝.update(opt)
    return float(스텝.loss().detach())
