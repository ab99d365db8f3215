# mistakes: 이미 목록에 넣은 값을 목록의 최솟값과 비교해서 한 번도 저장하지 않음
# lines: 40
from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
):
    result = {"train_losses": [], "dev_losses": [], "best_epoch": None}
    for epoch in range(epochs):
        model.train()
        total, count = 0.0, 0
        batches = iter(train_loader)
        while window := list(islice(batches, accum_steps)):
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
                n = len(batch["input_ids"])
                total += loss.item() * n
                count += n
            sam.first_step(zero_grad=True)
            for batch in window:
                (model(**batch).loss / len(window)).backward()
            clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        result["train_losses"].append(total / count)
        model.eval()
        total, count = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                n = len(batch["input_ids"])
                total += model(**batch).loss.item() * n
                count += n
        result["dev_losses"].append(total / count)
        if result["dev_losses"][-1] < min(result["dev_losses"]):
            result["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return result
