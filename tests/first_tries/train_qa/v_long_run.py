# mistakes: windows-straddle-epochs|drops-leftover, cumulative-dev-mean, leaves-eval-mode, scheduler-per-epoch, saves-last
# lines: 22, 23, 25, 49, 64
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
    best_loss, best_epoch, best_state = float("inf"), 0, None
    window = []
    dev_sum, dev_n = 0.0, 0

    model.train()
    for epoch in range(epochs):
        train_sum, train_n = 0.0, 0
        for batch in train_loader:
            window.append(batch)
            if len(window) < accum_steps:
                continue

            sam.zero_grad()
            for b in window:
                loss = model(**b).loss
                (loss / len(window)).backward()
                train_sum += loss.item() * b["input_ids"].size(0)
                train_n += b["input_ids"].size(0)
            sam.first_step(zero_grad=True)

            for b in window:
                (model(**b).loss / len(window)).backward()
            clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            window = []

        train_losses.append(train_sum / max(train_n, 1))
        if scheduler is not None:
            scheduler.step()

        # 검증
        model.eval()
        with torch.no_grad():
            for b in dev_loader:
                size = b["input_ids"].size(0)
                dev_sum += model(**b).loss.item() * size
                dev_n += size
        dev_loss = dev_sum / dev_n
        dev_losses.append(dev_loss)

        if dev_loss < best_loss:
            best_loss = dev_loss
            best_epoch = epoch
            best_state = model.state_dict()

    torch.save(best_state, checkpoint_path)
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
