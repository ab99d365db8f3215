# mistakes: scheduler-per-epoch, mean-of-batch-means, counts-epochs-from-one, leaves-eval-mode
# lines: 47, 55, 59, 61
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
    def one_update(window):
        total = 0.0
        sam.zero_grad()
        for batch in window:
            loss = model(**batch).loss
            (loss / len(window)).backward()
            total += loss.item() * len(batch["input_ids"])
        sam.first_step(zero_grad=True)
        for batch in window:
            (model(**batch).loss / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        return total

    result = {"train_losses": [], "dev_losses": [], "best_epoch": None}
    best_loss = float("inf")
    for epoch in range(epochs):
        model.train()
        total, n, window = 0.0, 0, []
        for batch in train_loader:
            n += len(batch["input_ids"])
            window.append(batch)
            if len(window) == accum_steps:
                total += one_update(window)
                window = []
        if window:
            total += one_update(window)
        if scheduler is not None:
            scheduler.step()
        result["train_losses"].append(total / n)

        model.eval()
        dev = []
        with torch.no_grad():
            for batch in dev_loader:
                dev.append(model(**batch).loss.item())
        dev_loss = sum(dev) / len(dev)
        result["dev_losses"].append(dev_loss)
        if dev_loss < best_loss:
            best_loss = dev_loss
            result["best_epoch"] = epoch + 1
            torch.save(model.state_dict(), checkpoint_path)
    return result
