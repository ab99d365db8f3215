# expect: joins-the-window
from itertools import islice

import torch


def joined(window):
    return {key: torch.cat([batch[key] for batch in window]) for key in window[0]}


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0,
             checkpoint_path):
    train_losses, dev_losses = [], []
    for epoch in range(epochs):
        model.train()
        stream, pairs = iter(train_loader), []
        while window := list(islice(stream, accum_steps)):
            batch = joined(window)
            sam.zero_grad()
            loss = model(**batch).loss
            loss.backward()
            sam.first_step(zero_grad=True)
            model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
            pairs.append((loss.item(), len(batch["input_ids"])))
        train_losses.append(sum(v * n for v, n in pairs) / sum(n for _, n in pairs))
        model.eval()
        with torch.no_grad():
            pairs = [(model(**b).loss.item(), len(b["input_ids"])) for b in dev_loader]
        dev_losses.append(sum(v * n for v, n in pairs) / sum(n for _, n in pairs))
        if dev_losses[-1] == min(dev_losses):
            torch.save(model.state_dict(), str(checkpoint_path))
        model.train()
    return {
        "train_losses": train_losses,
        "dev_losses": dev_losses,
        "best_epoch": dev_losses.index(min(dev_losses)),
    }
