# mistakes: drops-leftover, scheduler-per-epoch, mean-of-batch-means, counts-epochs-from-one
# lines: 16, 33, 41, 45
import torch
from torch.nn.utils import clip_grad_norm_


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path) -> dict:
    train_losses, dev_losses = [], []
    best_loss, best_epoch = float("inf"), 0
    for epoch in range(epochs):
        model.train()
        total, seen = 0.0, 0
        window = []
        for batch in train_loader:
            window.append(batch)
            if len(window) < accum_steps:
                continue
            sam.zero_grad()
            for b in window:
                loss = model(**b).loss
                n = len(b["input_ids"])
                total += loss.item() * n
                seen += n
                (loss / len(window)).backward()
            sam.first_step(zero_grad=True)
            for b in window:
                (model(**b).loss / len(window)).backward()
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            window = []
        if scheduler is not None:
            scheduler.step()
        train_losses.append(total / max(seen, 1))

        model.eval()
        dev = []
        with torch.no_grad():
            for b in dev_loader:
                dev.append(model(**b).loss.item())
        dev_loss = sum(dev) / len(dev)
        dev_losses.append(dev_loss)
        if dev_loss < best_loss:
            best_loss = dev_loss
            best_epoch = epoch + 1
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
