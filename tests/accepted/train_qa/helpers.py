from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_


def chunks(iterable, size):
    iterator = iter(iterable)
    while chunk := list(islice(iterator, size)):
        yield chunk


class Mean:
    def __init__(self):
        self.total = self.count = 0

    def add(self, value, n):
        self.total += value * n
        self.count += n

    @property
    def value(self):
        return self.total / self.count


@torch.inference_mode()
def dev_loss(model, loader):
    model.eval()
    mean = Mean()
    for batch in loader:
        mean.add(model(**batch).loss.item(), batch["input_ids"].size(0))
    model.train()
    return mean.value


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0,
             checkpoint_path):
    out = {"train_losses": [], "dev_losses": [], "best_epoch": -1}
    best = float("inf")
    model.train()
    for epoch in range(epochs):
        mean = Mean()
        for chunk in chunks(train_loader, accum_steps):
            for batch in chunk:
                loss = model(**batch)[0]
                loss.backward()
                mean.add(loss.item(), len(batch["start_positions"]))
            sam.first_step(zero_grad=True)
            for batch in chunk:
                (model(**batch)[0] / len(chunk)).backward()
            clip_grad_norm_([p for g in sam.param_groups for p in g["params"]], max_norm)
            sam.second_step(zero_grad=True)
            if scheduler:
                scheduler.step()
        out["train_losses"].append(mean.value)
        out["dev_losses"].append(dev_loss(model, dev_loader))
        if out["dev_losses"][-1] < best:
            best, out["best_epoch"] = out["dev_losses"][-1], epoch
            torch.save({k: v.cpu() for k, v in model.state_dict().items()}, checkpoint_path)
    return out
