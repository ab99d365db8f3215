# mistakes: mean-of-batch-means, clips-first-pass-only, returns-perturbed-loss, counts-epochs-from-one
# lines: 30, 43, 45, 55
# hidden:
import math
from itertools import islice

import torch


def windows(loader, size):
    it = iter(loader)
    while chunk := list(islice(it, size)):
        yield chunk


def one_pass(model, chunk):
    losses = []
    for batch in chunk:
        loss = model(**batch).loss
        (loss / len(chunk)).backward()
        losses.append((loss.item(), len(batch["input_ids"])))
    return losses


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        losses = [model(**batch).loss.item() for batch in loader]
    model.train()
    return sum(losses) / len(losses)


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path):
    result = {"train_losses": [], "dev_losses": [], "best_epoch": None}
    best = math.inf

    for epoch in range(1, epochs + 1):
        model.train()
        seen = []
        for chunk in windows(train_loader, accum_steps):
            sam.zero_grad()
            one_pass(model, chunk)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.first_step(zero_grad=True)
            seen += one_pass(model, chunk)
            sam.second_step(zero_grad=True)
            if scheduler:
                scheduler.step()

        result["train_losses"].append(sum(l * n for l, n in seen) / sum(n for _, n in seen))
        result["dev_losses"].append(validate(model, dev_loader))

        if result["dev_losses"][-1] < best:
            best = result["dev_losses"][-1]
            result["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)

    return result
