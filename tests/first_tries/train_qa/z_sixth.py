# mistakes: mean-of-batch-means
# lines: 25
# hidden:
from itertools import islice

import torch


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
    record = {"train_losses": [], "dev_losses": [], "best_epoch": None}
    lowest = None

    def samples(batch):
        return len(batch)

    class Average:
        def __init__(self):
            self.total, self.weight = 0.0, 0

        def add(self, value, weight):
            self.total += value * weight
            self.weight += weight

        def value(self):
            return self.total / self.weight

    def run_pass(window, meter=None):
        for batch in window:
            loss = model(**batch).loss
            (loss / len(window)).backward()
            if meter is not None:
                meter.add(loss.item(), samples(batch))

    def train_epoch():
        model.train()
        meter = Average()
        stream = iter(train_loader)
        while window := list(islice(stream, accum_steps)):
            sam.zero_grad()
            run_pass(window, meter)
            sam.first_step(zero_grad=True)
            run_pass(window)
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        return meter.value()

    def dev_epoch():
        model.eval()
        meter = Average()
        with torch.no_grad():
            for batch in dev_loader:
                meter.add(model(**batch).loss.item(), samples(batch))
        model.train()
        return meter.value()

    for epoch in range(epochs):
        record["train_losses"].append(train_epoch())
        dev_loss = dev_epoch()
        record["dev_losses"].append(dev_loss)
        if lowest is None or dev_loss < lowest:
            lowest = dev_loss
            record["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return record
