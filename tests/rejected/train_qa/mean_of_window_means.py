# expect: mean-of-window-means
from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path):
    train_losses, dev_losses, best = [], [], None
    for epoch in range(epochs):
        model.train()
        window_means = []
        batches = iter(train_loader)
        while window := list(islice(batches, accum_steps)):
            running = 0.0
            for batch in window:
                loss = model(**batch).loss / len(window)
                loss.backward()
                running += loss.item()
            window_means.append(running)
            sam.first_step(zero_grad=True)
            for batch in window:
                (model(**batch).loss / len(window)).backward()
            clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        train_losses.append(sum(window_means) / len(window_means))
        model.eval()
        total = count = 0
        with torch.no_grad():
            for batch in dev_loader:
                n = len(batch["start_positions"])
                total += model(**batch).loss.item() * n
                count += n
        dev_losses.append(total / count)
        if best is None or dev_losses[-1] < dev_losses[best]:
            best = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best}
