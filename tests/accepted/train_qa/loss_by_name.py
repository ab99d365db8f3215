import math

import torch


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
):
    out = {"train_losses": [], "dev_losses": [], "best_epoch": 0}
    best = math.inf
    for epoch in range(epochs):
        model.train()
        losses, data = [], list(train_loader)
        for start in range(0, len(data), accum_steps):
            window = data[start : start + accum_steps]
            sam.zero_grad()
            for batch in window:
                loss = model(**batch)["loss"]
                loss.backward()
                losses += [loss.item()] * len(batch["input_ids"])
            sam.first_step(zero_grad=True)
            for batch in window:
                (model(**batch)["loss"] / len(window)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        out["train_losses"].append(sum(losses) / len(losses))
        model.eval()
        losses = []
        with torch.no_grad():
            for batch in dev_loader:
                losses += [model(**batch)["loss"].item()] * len(batch["input_ids"])
        out["dev_losses"].append(sum(losses) / len(losses))
        if out["dev_losses"][-1] < best:
            best, out["best_epoch"] = out["dev_losses"][-1], epoch
            best_state = {name: value.clone() for name, value in model.state_dict().items()}
    torch.save(best_state, checkpoint_path)
    model.train()
    return out
