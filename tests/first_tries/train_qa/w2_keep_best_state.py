# mistakes: cumulative-dev-mean, drops-leftover, clips-first-pass-only, scheduler-per-epoch, saves-last
# lines: 22, 30, 41, 49, 63
# hidden:
import torch
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
    train_losses, dev_losses = [], []
    best_epoch, best_loss, best_state = 0, float("inf"), None
    dev_sum, dev_count = 0.0, 0

    for epoch in range(epochs):
        model.train()
        train_sum, train_count = 0.0, 0
        window = []
        for batch in train_loader:
            window.append(batch)
            if len(window) < accum_steps:
                continue

            sam.zero_grad()
            for part in window:
                loss = model(**part).loss
                (loss / len(window)).backward()
                size = len(part["input_ids"])
                train_sum += loss.item() * size
                train_count += size
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            sam.first_step(zero_grad=True)

            for part in window:
                (model(**part).loss / len(window)).backward()
            sam.second_step(zero_grad=True)
            window = []
        if scheduler is not None:
            scheduler.step()
        train_losses.append(train_sum / train_count)

        model.eval()
        with torch.no_grad():
            for batch in dev_loader:
                size = len(batch["input_ids"])
                dev_sum += model(**batch).loss.item() * size
                dev_count += size
        dev_losses.append(dev_sum / dev_count)

        if dev_losses[-1] < best_loss:
            best_loss = dev_losses[-1]
            best_epoch = epoch
            best_state = model.state_dict()

    torch.save(best_state, checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
