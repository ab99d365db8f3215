# mistakes: drops-leftover, missing-eval-mode, saves-last
# lines: 28, 40, 46
# hidden:
import torch
from torch import nn


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0,
             checkpoint_path):
    train_losses = []
    dev_losses = []

    for epoch in range(epochs):
        model.train()
        total, count = 0.0, 0
        bucket = []
        for i, batch in enumerate(train_loader):
            # w에서의 손실
            if not bucket:
                sam.zero_grad()
            loss = model(**batch).loss
            (loss / accum_steps).backward()
            bucket.append(batch)
            n = batch["input_ids"].shape[0]
            total += loss.item() * n
            count += n

            if (i + 1) % accum_steps == 0:
                sam.first_step(zero_grad=True)
                for old in bucket:
                    (model(**old).loss / len(bucket)).backward()
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                sam.second_step(zero_grad=True)
                if scheduler is not None:
                    scheduler.step()
                bucket = []
        train_losses.append(total / count)

        dev_total, dev_count = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                n = batch["input_ids"].shape[0]
                dev_total += model(**batch).loss.item() * n
                dev_count += n
        dev_losses.append(dev_total / dev_count)
        torch.save(model.state_dict(), checkpoint_path)

    best_epoch = dev_losses.index(min(dev_losses))
    return dict(train_losses=train_losses, dev_losses=dev_losses, best_epoch=best_epoch)
