# mistakes: returns-loss-after-update
# lines: 22
# hidden:
import torch


class OneStep:
    def __init__(self, model, opt, loss_fn):
        self.model = model
        self.opt = opt
        self.loss_fn = loss_fn

    def loss(self, xb, yb):
        return self.loss_fn(self.model(xb), yb)

    def run(self, xb, yb):
        self.opt.zero_grad()
        self.loss(xb, yb).backward()
        self.opt.step()
        # 손실을 숫자로
        with torch.no_grad():
            return self.loss(xb, yb).item()


def train_step(model, opt, loss_fn, xb, yb) -> float:
    return OneStep(model, opt, loss_fn).run(xb, yb)
