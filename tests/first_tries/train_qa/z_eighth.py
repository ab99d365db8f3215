# mistakes: mean-of-batch-means, last-of-equals, scheduler-per-epoch
# lines: 63, 67, 56
# hidden:
import torch


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
    def sam_update(segment):
        # 첫 번째 패스: w에서
        sam.zero_grad()
        total = 0.0
        for batch in segment:
            loss = model(**batch).loss
            (loss / len(segment)).backward()
            total += loss.item()
        sam.first_step(zero_grad=True)
        # 두 번째 패스: w + e에서
        for batch in segment:
            (model(**batch).loss / len(segment)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        return total

    train_losses = []
    dev_losses = []
    best_epoch = 0
    best_loss = float("inf")
    for epoch in range(epochs):
        model.train()
        total = 0.0
        seen = 0
        segment = []
        for batch in train_loader:
            segment.append(batch)
            if len(segment) == accum_steps:
                total += sam_update(segment)
                seen += len(segment)
                segment = []
        if segment:
            total += sam_update(segment)
            seen += len(segment)
        train_losses.append(total / seen)
        if scheduler is not None:
            scheduler.step()

        model.eval()
        dev_total = 0.0
        dev_count = 0
        with torch.no_grad():
            for batch in dev_loader:
                dev_total += model(**batch).loss.item()
                dev_count += 1
        dev_loss = dev_total / dev_count
        dev_losses.append(dev_loss)
        if dev_loss <= best_loss:
            best_loss = dev_loss
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)
        model.train()

    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
