# mistakes: scheduler-per-epoch
# lines: 66
# hidden:
import math

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
    def size(batch):
        return batch["input_ids"].size(0)

    def add_gradients(chunk):
        """구간 하나를 돌며 그레이디언트를 더하고, (손실 합, 샘플 수)를 돌려준다"""
        loss_sum, seen = 0.0, 0
        for batch in chunk:
            loss = model(**batch).loss
            (loss / len(chunk)).backward()
            loss_sum += loss.item() * size(batch)
            seen += size(batch)
        return loss_sum, seen

    def update(chunk):
        measured = add_gradients(chunk)
        sam.first_step(zero_grad=True)
        add_gradients(chunk)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        return measured

    def dev_loss():
        model.eval()
        loss_sum, seen = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                loss_sum += model(**batch).loss.item() * size(batch)
                seen += size(batch)
        return loss_sum / seen

    result = {"train_losses": [], "dev_losses": [], "best_epoch": None}
    best = math.nan
    sam.zero_grad()
    for epoch in range(epochs):
        model.train()
        results, chunk = [], []
        for batch in train_loader:
            chunk.append(batch)
            if len(chunk) == accum_steps:
                results.append(update(chunk))
                chunk = []
        if chunk:
            results.append(update(chunk))
        if scheduler is not None:
            scheduler.step()
        result["train_losses"].append(sum(s for s, _ in results) / sum(n for _, n in results))

        now = dev_loss()
        result["dev_losses"].append(now)
        if result["best_epoch"] is None or now < best or (math.isnan(best) and not math.isnan(now)):
            best = now
            result["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return result
