# mistakes: last-of-equals, returns-perturbed-loss, mean-of-batch-means
# lines: 73, 60, 16
# hidden:
from itertools import islice

import torch


def dev_loss(model, loader):
    model.eval()
    values = []
    with torch.no_grad():
        for batch in loader:
            values.append(model(**batch).loss.item())
    model.train()
    return sum(values) / len(values)


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
    params = [p for group in sam.param_groups for p in group["params"]]

    def gather(window):
        # 구간의 손실 합(샘플 수로 가중)과 샘플 수
        s, n = 0.0, 0
        for batch in window:
            loss = model(**batch).loss
            (loss / len(window)).backward()
            size = len(batch["input_ids"])
            s += loss.item() * size
            n += size
        return s, n

    history = {"train_losses": [], "dev_losses": [], "best_epoch": 0}
    best = float("inf")

    for epoch in range(epochs):
        model.train()
        loss_sum, count = 0.0, 0
        batches = iter(train_loader)

        while True:
            window = list(islice(batches, accum_steps))
            if not window:
                break
            sam.zero_grad()
            s, n = gather(window)
            sam.first_step(zero_grad=True)

            s, n = gather(window)
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(params, max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()

            loss_sum += s
            count += n

        history["train_losses"].append(loss_sum / count)
        current = dev_loss(model, dev_loader)
        history["dev_losses"].append(current)
        if current <= best:
            best = current
            history["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)

    return history
