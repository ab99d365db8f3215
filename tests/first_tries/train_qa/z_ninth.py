# mistakes: weights-by-tokens
# lines: 55
# hidden:
import math
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
    def one_pass(window):
        """구간 전체를 하나씩 역전파하고, 배치마다의 손실을 돌려준다."""

        def one(batch):
            loss = model(**batch).loss
            (loss / len(window)).backward()
            return loss.item()

        return [one(batch) for batch in window]

    def train_one_epoch():
        model.train()
        stream = iter(train_loader)
        seen = []
        while window := list(islice(stream, accum_steps)):
            sam.zero_grad()
            seen += one_pass(window)
            sam.first_step(zero_grad=True)
            one_pass(window)
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(
                    [p for g in sam.param_groups for p in g["params"]], max_norm
                )
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        return sum(seen) / len(seen)

    @torch.no_grad()
    def dev_loss():
        model.eval()
        total, count = 0.0, 0
        for batch in dev_loader:
            n = int(batch["attention_mask"].sum())
            total += model(**batch).loss.item() * n
            count += n
        return total / count

    history = {"train_losses": [], "dev_losses": [], "best_epoch": 0}
    lowest = math.inf
    for epoch in range(epochs):
        history["train_losses"].append(train_one_epoch())
        history["dev_losses"].append(dev_loss())
        if history["dev_losses"][-1] < lowest:
            lowest = history["dev_losses"][-1]
            history["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return history
