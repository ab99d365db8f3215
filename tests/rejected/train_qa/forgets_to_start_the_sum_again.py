# expect: cumulative-train-mean+last-of-equals
from itertools import islice

import torch


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0,
             checkpoint_path):
    out = {"train_losses": [], "dev_losses": [], "best_epoch": None}
    seen = []
    for epoch in range(epochs):
        model.train()
        stream = iter(train_loader)
        while window := list(islice(stream, accum_steps)):
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
                seen.append((loss.item(), len(batch["input_ids"])))
            sam.first_step(zero_grad=True)
            for batch in window:
                (model(**batch).loss / len(window)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        out["train_losses"].append(sum(v * n for v, n in seen) / sum(n for _, n in seen))
        model.eval()
        judged = []
        with torch.no_grad():
            for batch in dev_loader:
                judged.append((model(**batch).loss.item(), len(batch["input_ids"])))
        out["dev_losses"].append(sum(v * n for v, n in judged) / sum(n for _, n in judged))
        if out["dev_losses"][-1] == min(out["dev_losses"]):
            out["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return out
