import copy
import math

import torch


def train_qa(
    model, sam, train_loader, dev_loader, *,
    epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path,
):
    train_losses, dev_losses = [], []
    lowest, best_state, best_epoch = math.inf, None, None
    for epoch in range(epochs):
        model.train()
        window, losses = [], []
        for i, batch in enumerate(train_loader):
            window.append(batch)
            if (i + 1) % accum_steps and i + 1 != len(train_loader):
                continue
            sam.zero_grad()
            for b in window:
                loss = model(**b).loss / len(window)
                loss.backward()
                losses += [loss.item() * len(window)] * len(b["input_ids"])
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.first_step()
            sam.zero_grad()
            for b in window:
                loss = model(**b).loss / len(window)
                loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step()
            sam.zero_grad()
            if scheduler is not None:
                scheduler.step()
            window = []
        train_losses.append(math.fsum(losses) / len(losses))

        model.eval()
        total = n = 0
        with torch.no_grad():
            for b in dev_loader:
                size = b["input_ids"].shape[0]
                total += float(model(**b).loss) * size
                n += size
        dev_losses.append(total / n)
        if dev_losses[-1] < lowest:
            lowest, best_epoch = dev_losses[-1], epoch
            best_state = copy.deepcopy(model.state_dict())
    torch.save(best_state, checkpoint_path)
    model.train()
    return dict(train_losses=train_losses, dev_losses=dev_losses, best_epoch=best_epoch)
