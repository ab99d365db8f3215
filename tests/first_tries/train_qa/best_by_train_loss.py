# mistakes: best-by-train-loss
# lines: 46
import torch


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
) -> dict:
    train_losses = []
    dev_losses = []
    best_loss = float("inf")
    best_epoch = 0

    for epoch in range(epochs):
        model.train()
        loss_sum, n = 0.0, 0
        batches = list(train_loader)
        while batches:
            window, batches = batches[:accum_steps], batches[accum_steps:]
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
                loss_sum += loss.item() * batch["input_ids"].size(0)
                n += batch["input_ids"].size(0)
            sam.first_step(zero_grad=True)
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        epoch_loss = loss_sum / n
        train_losses.append(epoch_loss)

        model.eval()
        dev_sum, dev_n = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                dev_sum += model(**batch).loss.item() * batch["input_ids"].size(0)
                dev_n += batch["input_ids"].size(0)
        dev_losses.append(dev_sum / dev_n)

        # 가장 좋은 에폭 저장
        if epoch_loss < best_loss:
            best_loss = epoch_loss
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)

    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
