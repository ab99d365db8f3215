# mistakes: leaves-eval-mode, clips-first-pass-only, last-of-equals
# lines: 29, 61, 74
# hidden:
import torch


def _windows(loader, size):
    bag = []
    for batch in loader:
        bag.append(batch)
        if len(bag) == size:
            yield bag
            bag = []
    if bag:
        yield bag


def _gradient(model, bag):
    total = 0.0
    for batch in bag:
        loss = model(**batch).loss
        (loss / len(bag)).backward()
        total += loss.item() * len(batch["input_ids"])
    return total


@torch.no_grad()
def _dev_loss(model, loader):
    model.eval()
    s, n = 0.0, 0
    for batch in loader:
        size = len(batch["input_ids"])
        s += model(**batch).loss.item() * size
        n += size
    return s / n


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
    result = {"train_losses": [], "dev_losses": [], "best_epoch": 0}
    lowest = float("inf")
    weights = [p for g in sam.param_groups for p in g["params"]]

    model.train()
    for epoch in range(epochs):
        loss_sum, count = 0.0, 0
        for bag in _windows(train_loader, accum_steps):
            sam.zero_grad()
            loss_sum += _gradient(model, bag)
            count += sum(len(b["input_ids"]) for b in bag)
            torch.nn.utils.clip_grad_norm_(weights, max_norm)
            sam.first_step()
            sam.zero_grad()

            _gradient(model, bag)
            sam.second_step()
            sam.zero_grad()
            if scheduler is not None:
                scheduler.step()
        result["train_losses"].append(loss_sum / count)

        dev = _dev_loss(model, dev_loader)
        result["dev_losses"].append(dev)
        if dev <= lowest:
            lowest = dev
            result["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)

    model.train()
    return result
