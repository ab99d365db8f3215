# mistakes: returns-perturbed-loss, missing-eval-mode, saves-last
# lines: 34, 45, 52
import torch


def _windows(loader, k):
    buf = []
    for b in loader:
        buf.append(b)
        if len(buf) == k:
            yield buf
            buf = []
    if buf:
        yield buf


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
) -> dict:
    history = {"train_losses": [], "dev_losses": [], "best_epoch": 0}
    best_state = None
    for epoch in range(epochs):
        model.train()
        loss_sum = 0.0
        count = 0
        for win in _windows(train_loader, accum_steps):
            sam.zero_grad()
            for batch in win:
                loss = model(**batch).loss / len(win)
                loss.backward()
            sam.first_step(zero_grad=True)
            for batch in win:
                loss = model(**batch).loss
                loss_sum += loss.item() * batch["input_ids"].shape[0]
                count += batch["input_ids"].shape[0]
                (loss / len(win)).backward()
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        history["train_losses"].append(loss_sum / count)
        # dev
        dev_sum, dev_n = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                n = batch["input_ids"].shape[0]
                dev_sum += model(**batch).loss.item() * n
                dev_n += n
        dev_loss = dev_sum / dev_n
        if best_state is None or dev_loss < min(history["dev_losses"]):
            best_state = model.state_dict()
            history["best_epoch"] = epoch
        history["dev_losses"].append(dev_loss)
    torch.save(best_state, checkpoint_path)
    model.train()
    return history
