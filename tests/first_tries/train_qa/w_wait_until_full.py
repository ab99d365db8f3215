# mistakes: drops-leftover, mean-of-batch-means, leaves-eval-mode, scheduler-per-epoch
# lines: 29, 58, 23, 50
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
    best_loss, best_epoch = float("inf"), 0

    model.train()
    for epoch in range(epochs):
        loss_sum, num_samples = 0.0, 0
        window = []
        for batch in train_loader:
            window.append(batch)
            if len(window) < accum_steps:
                continue

            # 첫 번째 패스 (w)
            sam.zero_grad()
            for b in window:
                loss = model(**b).loss
                n = b["input_ids"].shape[0]
                loss_sum += loss.item() * n
                num_samples += n
                (loss / len(window)).backward()
            sam.first_step(zero_grad=True)

            # 두 번째 패스 (w + e)
            for b in window:
                (model(**b).loss / len(window)).backward()
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            window = []
        if scheduler is not None:
            scheduler.step()
        train_losses.append(loss_sum / num_samples)

        # 검증
        model.eval()
        total, count = 0.0, 0
        with torch.no_grad():
            for b in dev_loader:
                total += model(**b).loss.item()
                count += 1
        dev_loss = total / count
        dev_losses.append(dev_loss)
        if dev_loss < best_loss:
            best_loss = dev_loss
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)

    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
