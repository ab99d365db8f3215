# mistakes: mean-of-batch-means, leaves-eval-mode, second-pass-not-divided
# lines: 45, 42, 32
import torch
from torch.nn.utils import clip_grad_norm_


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
):
    train_losses, dev_losses = [], []
    best_epoch, best = 0, float("inf")
    model.train()

    for epoch in range(epochs):
        # ---- 학습 ----
        total, seen = 0.0, 0
        window = []
        batches = list(train_loader)
        for i, batch in enumerate(batches):
            window.append(batch)
            if len(window) < accum_steps and i != len(batches) - 1:
                continue
            sam.zero_grad()
            for b in window:
                loss = model(**b).loss
                (loss / len(window)).backward()
                n = b["input_ids"].shape[0]
                total += loss.item() * n
                seen += n
            sam.first_step(zero_grad=True)
            for b in window:
                model(**b).loss.backward()
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
            window = []
        train_losses.append(total / seen)

        # ---- 검증 ----
        model.eval()
        with torch.no_grad():
            losses = [model(**b).loss.item() for b in dev_loader]
        dev_losses.append(sum(losses) / len(losses))
        if dev_losses[-1] < best:
            best = dev_losses[-1]
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)

    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
