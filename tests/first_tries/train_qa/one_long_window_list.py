# mistakes: windows-straddle-epochs|drops-leftover, cumulative-dev-mean, saves-wrapped-state
# lines: 11, 12, 45
import torch


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
):
    train_losses, dev_losses = [], []
    best_loss, best_epoch = None, None
    window = []  # 아직 업데이트하지 않은 배치
    dev_total, dev_n = 0.0, 0

    for epoch in range(epochs):
        model.train()
        total, n = 0.0, 0
        for batch in train_loader:
            window.append(batch)
            loss = model(**batch).loss
            total += loss.item() * len(batch["input_ids"])
            n += len(batch["input_ids"])
            (loss / accum_steps).backward()
            if len(window) == accum_steps:
                sam.first_step(zero_grad=True)
                for b in window:
                    (model(**b).loss / accum_steps).backward()
                if max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                sam.second_step(zero_grad=True)
                if scheduler is not None:
                    scheduler.step()
                window = []
        train_losses.append(total / n)

        model.eval()
        for batch in dev_loader:
            with torch.no_grad():
                out = model(**batch)
            dev_total += out.loss.item() * len(batch["input_ids"])
            dev_n += len(batch["input_ids"])
        dev_losses.append(dev_total / dev_n)

        if best_loss is None or dev_losses[-1] < best_loss:
            best_loss, best_epoch = dev_losses[-1], epoch
            torch.save({"epoch": epoch, "model": model.state_dict()}, checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
