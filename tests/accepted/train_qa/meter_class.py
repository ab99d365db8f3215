from dataclasses import dataclass
from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_


@dataclass
class Meter:
    total: float = 0.0
    count: int = 0

    def add(self, output, batch):
        size = batch["input_ids"].size(0)
        self.total += output.loss.item() * size
        self.count += size

    @property
    def mean(self):
        return self.total / self.count


def cut(loader, length):
    stream = iter(loader)
    while window := tuple(islice(stream, length)):
        yield window


def train_qa(
    model,
    sam,
    train_loader,
    dev_loader,
    *,
    epochs,
    accum_steps,
    scheduler=None,
    max_norm=1.0,
    checkpoint_path,
) -> dict:
    train_losses, dev_losses = [], []

    def one_epoch():
        meter = Meter()
        model.train()
        for window in cut(train_loader, accum_steps):
            sam.zero_grad()
            for batch in window:
                output = model(**batch)
                output.loss.div(len(window)).backward()
                meter.add(output, batch)
            sam.first_step(zero_grad=True)
            for batch in window:
                model(**batch).loss.div(len(window)).backward()
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        return meter.mean

    @torch.no_grad()
    def validate():
        meter = Meter()
        model.eval()
        for batch in dev_loader:
            meter.add(model(**batch), batch)
        model.train()
        return meter.mean

    for _ in range(epochs):
        train_losses.append(one_epoch())
        dev_losses.append(validate())
        if dev_losses.index(min(dev_losses)) == len(dev_losses) - 1:
            torch.save(model.state_dict(), checkpoint_path)

    return {
        "train_losses": train_losses,
        "dev_losses": dev_losses,
        "best_epoch": min(range(epochs), key=dev_losses.__getitem__),
    }
