# expect: step-before-backward
class Trainer:
    def __init__(self, model, opt, loss_fn):
        self.model, self.opt, self.loss_fn = model, opt, loss_fn

    def update(self):
        self.opt.step()
        self.opt.zero_grad()

    def run(self, xb, yb):
        loss = self.loss_fn(self.model(xb), yb)
        self.update()
        loss.backward()
        return loss.item()


def train_step(model, opt, loss_fn, xb, yb):
    return Trainer(model, opt, loss_fn).run(xb, yb)
