# mistakes: cumulative-train-mean, scheduler-per-micro-batch, drops-leftover, counts-epochs-from-one, leaves-eval-mode
# lines: 24, 53, 33, 59, 10

import math

import torch


def run_dev(model, loader):
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for batch in loader:
            bs = batch["input_ids"].size(0)
            total += model(**batch).loss.item() * bs
            n += bs
    return total / n


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None,
             max_norm=1.0, checkpoint_path):
    train_losses, dev_losses = [], []
    best, best_epoch = math.inf, 0
    loss_sum = 0.0

    for epoch in range(1, epochs + 1):
        model.train()
        seen = 0
        window = []
        for batch in train_loader:
            window.append(batch)

            if len(window) == accum_steps:
                # 1st pass
                sam.zero_grad()
                for b in window:
                    loss = model(**b).loss
                    (loss / accum_steps).backward()
                    bs = b["input_ids"].size(0)
                    loss_sum += loss.item() * bs
                    seen += bs
                sam.first_step(zero_grad=True)

                # 2nd pass
                for b in window:
                    (model(**b).loss / accum_steps).backward()
                if max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                sam.second_step(zero_grad=True)
                window = []

            if scheduler is not None:
                scheduler.step()

        train_losses.append(loss_sum / max(1, seen))
        dev = run_dev(model, dev_loader)
        dev_losses.append(dev)
        if dev < best:   # dev loss가 가장 낮을 때 저장
            best, best_epoch = dev, epoch
            torch.save(model.state_dict(), checkpoint_path)

    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
