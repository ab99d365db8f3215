# mistakes: windows-straddle-epochs, cumulative-dev-mean, unlisted (mean of batch means; the train batches are equal in size), leaves-eval-mode
# lines: 38, 39, 49, 62
import torch
from statistics import mean
from torch.nn.utils import clip_grad_norm_


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
    def update(window):
        values = []
        sam.zero_grad()
        for batch in window:
            loss = model(**batch).loss
            (loss / len(window)).backward()
            values.append(loss.item())
        sam.first_step(zero_grad=True)
        for batch in window:
            (model(**batch).loss / len(window)).backward()
        clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        if scheduler is not None:
            scheduler.step()
        return values

    train_losses, dev_losses = [], []
    best_loss, best_epoch = float("inf"), 0
    window = []
    dev_total, dev_count = 0.0, 0

    for epoch in range(epochs):
        model.train()
        epoch_values = []
        for batch in train_loader:
            window.append(batch)
            if len(window) == accum_steps:
                epoch_values += update(window)
                window = []
        train_losses.append(mean(epoch_values))

        model.eval()
        with torch.no_grad():
            for batch in dev_loader:
                size = len(batch["input_ids"])
                dev_total += model(**batch).loss.item() * size
                dev_count += size
        dev_losses.append(dev_total / dev_count)
        if dev_losses[-1] < best_loss:
            best_loss, best_epoch = dev_losses[-1], epoch
            torch.save(model.state_dict(), checkpoint_path)

    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
