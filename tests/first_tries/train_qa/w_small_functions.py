# mistakes: clips-first-pass-only, returns-perturbed-loss, counts-epochs-from-one, saves-last
# lines: 20, 26, 63, 62
# hidden:
import math
from itertools import islice

import torch


def size_of(batch):
    return len(batch["input_ids"])


def update_once(model, sam, window, max_norm):
    """구간 하나로 한 번 업데이트하고 손실의 합을 돌려준다."""
    for batch in window:
        loss = model(**batch).loss / len(window)
        loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    sam.first_step(zero_grad=True)

    total = 0.0
    for batch in window:
        loss = model(**batch).loss
        total += loss.item() * size_of(batch)
        (loss / len(window)).backward()
    sam.second_step(zero_grad=True)
    return total


@torch.no_grad()
def validate(model, loader):
    model.eval()
    total, count = 0.0, 0
    for batch in loader:
        total += model(**batch).loss.item() * size_of(batch)
        count += size_of(batch)
    return total / count


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps,
             scheduler=None, max_norm=1.0, checkpoint_path) -> dict:
    history = {"train_losses": [], "dev_losses": [], "best_epoch": None}
    best_loss, best_state = math.inf, None
    sam.zero_grad()
    for epoch in range(epochs):
        model.train()
        stream = iter(train_loader)
        total, count = 0.0, 0
        while window := list(islice(stream, accum_steps)):
            total += update_once(model, sam, window, max_norm)
            count += sum(size_of(batch) for batch in window)
            if scheduler is not None:
                scheduler.step()
        history["train_losses"].append(total / count)

        dev_loss = validate(model, dev_loader)
        history["dev_losses"].append(dev_loss)
        if dev_loss < best_loss:
            best_loss = dev_loss
            best_state = model.state_dict()  # 가장 좋은 모델
            history["best_epoch"] = epoch + 1
    torch.save(best_state, checkpoint_path)
    model.train()
    return history
