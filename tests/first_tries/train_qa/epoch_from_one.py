# mistakes: counts-epochs-from-one, scheduler-before-step
# lines: 40, 27
import math

import torch


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
):
    def size(batch):
        return batch["input_ids"].size(0)

    def one_window(window):
        """구간 하나를 학습하고, (손실 × 샘플)의 합을 돌려준다"""
        loss_sum = 0.0
        for batch in window:
            loss = model(**batch).loss
            loss_sum += loss.item() * size(batch)
            (loss / len(window)).backward()
        sam.first_step(zero_grad=True)
        for batch in window:
            (model(**batch).loss / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        if scheduler is not None:
            scheduler.step()
        sam.second_step(zero_grad=True)
        return loss_sum

    @torch.no_grad()
    def dev():
        model.eval()
        pairs = [(model(**batch).loss.item(), size(batch)) for batch in dev_loader]
        model.train()
        return sum(loss * n for loss, n in pairs) / sum(n for _, n in pairs)

    train_losses, dev_losses = [], []
    lowest, best_epoch = math.inf, None
    for epoch in range(1, epochs + 1):
        model.train()
        loss_sum, count, window = 0.0, 0, []
        for batch in train_loader:
            window.append(batch)
            count += size(batch)
            if len(window) == accum_steps:
                loss_sum += one_window(window)
                window = []
        if window:
            loss_sum += one_window(window)
        train_losses.append(loss_sum / count)

        dev_losses.append(dev())
        if dev_losses[-1] < lowest:
            lowest, best_epoch = dev_losses[-1], epoch
            torch.save(model.state_dict(), checkpoint_path)
    return dict(train_losses=train_losses, dev_losses=dev_losses, best_epoch=best_epoch)
