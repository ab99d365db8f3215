import torch


def train_qa(
    model, sam, train_loader, dev_loader, *,
    epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path,
):
    history = {"train_losses": [], "dev_losses": [], "best_epoch": 0}
    for epoch in range(epochs):
        model.train()
        losses, sizes, held = [], [], []
        for number, batch in zip(range(len(train_loader)), train_loader):
            held.append(batch)
            if len(held) < accum_steps and number < len(train_loader) - 1:
                continue
            for climbing in (True, False):
                for one in held:
                    loss = model(**one).loss
                    if climbing:
                        losses.append(loss.item())
                        sizes.append(one["input_ids"].size(0))
                    (loss / len(held)).backward()
                if climbing:
                    sam.first_step(zero_grad=True)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
            held = []
        history["train_losses"].append(sum(a * b for a, b in zip(losses, sizes)) / sum(sizes))

        model.eval()
        dev, count = 0.0, 0
        with torch.no_grad():
            stream = iter(dev_loader)
            for _ in range(len(dev_loader)):
                batch = next(stream)
                dev += model(**batch).loss.item() * len(batch["input_ids"])
                count += len(batch["input_ids"])
        history["dev_losses"].append(dev / count)
        if history["dev_losses"][-1] < min(history["dev_losses"][:-1], default=float("inf")):
            history["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return history
