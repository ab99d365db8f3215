# mistakes: saves-last, returns-perturbed-loss
# lines: 43, 25
import torch
from torch import nn


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
):
    result = {"train_losses": [], "dev_losses": []}
    best = float("inf")

    for epoch in range(epochs):
        model.train()
        pairs = []  # (손실, 샘플 수)
        batches = [batch for batch in train_loader]
        for start in range(0, len(batches), accum_steps):
            window = batches[start : start + accum_steps]
            for batch in window:
                (model(**batch).loss / len(window)).backward()
            sam.first_step(zero_grad=True)
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
                pairs.append((loss.item(), len(batch["input_ids"])))
            if max_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        result["train_losses"].append(sum(a * b for a, b in pairs) / sum(b for a, b in pairs))

        model.eval()
        pairs = []
        with torch.no_grad():
            for batch in dev_loader:
                pairs.append((model(**batch).loss.item(), len(batch["input_ids"])))
        dev_loss = sum(a * b for a, b in pairs) / sum(b for a, b in pairs)
        result["dev_losses"].append(dev_loss)
        if dev_loss < best:
            best = dev_loss
            result["best_epoch"] = epoch
            best_state = model.state_dict()

    torch.save(best_state, checkpoint_path)
    model.train()
    return result
