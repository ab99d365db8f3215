from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    losses = []
    stream = iter(micro_batches)
    while window := list(islice(stream, accum_steps)):
        value = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / len(window)
            loss.backward()
            value += loss.item()
        sam.first_step(zero_grad=True)
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(value)
    return losses


class Unpacked(torch.nn.Module):
    """배치 dict 하나를 입력으로 받아 손실을 내는 모델처럼 보이게 한다."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, batch):
        return self.model(**batch).loss


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0,
             checkpoint_path):
    history = {"train_losses": [], "dev_losses": [], "best_epoch": None}
    wrapped = Unpacked(model)
    for epoch in range(epochs):
        wrapped.train()
        losses, sizes = [], []
        stream = iter(train_loader)
        while window := list(islice(stream, accum_steps)):
            losses += sam_accumulate(
                wrapped, sam, lambda loss, _: loss, [(b, None) for b in window], accum_steps, max_norm=max_norm
            )
            sizes.append(sum(len(b["input_ids"]) for b in window))
            if scheduler is not None:
                scheduler.step()
        history["train_losses"].append(sum(a * b for a, b in zip(losses, sizes)) / sum(sizes))
        wrapped.eval()
        total, n = 0.0, 0
        for batch in dev_loader:
            with torch.no_grad():
                total += wrapped(batch).item() * len(batch["input_ids"])
            n += len(batch["input_ids"])
        now = total / n
        if all(now < before for before in history["dev_losses"]):
            history["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)
        history["dev_losses"].append(now)
    wrapped.train()
    return history
