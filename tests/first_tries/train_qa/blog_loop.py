# mistakes: drops-leftover, last-batch-only, ignores-max-norm, highest-saved
# lines: 31, 33, 35, 50
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
    history = {"train_losses": [], "dev_losses": [], "best_epoch": -1}
    best_dev_loss = -1.0
    for epoch in range(epochs):
        model.train()
        epoch_loss = 0.0
        n_samples = 0
        sam.zero_grad()
        for step, batch in enumerate(train_loader, 1):
            loss = model(**batch).loss
            epoch_loss += loss.item() * len(batch["input_ids"])
            n_samples += len(batch["input_ids"])
            (loss / accum_steps).backward()

            if step % accum_steps == 0:
                sam.first_step(zero_grad=True)
                for _ in range(accum_steps):
                    (model(**batch).loss / accum_steps).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                sam.second_step(zero_grad=True)
                if scheduler is not None:
                    scheduler.step()
        history["train_losses"].append(epoch_loss / n_samples)

        model.eval()
        dev_loss, dev_samples = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                size = len(batch["input_ids"])
                dev_loss += model(**batch).loss.item() * size
                dev_samples += size
        dev_loss /= dev_samples
        history["dev_losses"].append(dev_loss)
        if dev_loss > best_dev_loss:
            best_dev_loss = dev_loss
            history["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return history
