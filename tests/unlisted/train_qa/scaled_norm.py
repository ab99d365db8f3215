# mistakes: 클리핑의 한계를 구간의 마이크로 배치 수만큼 키움
# lines: 28
from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
):
    history = {"train_losses": [], "dev_losses": []}
    best = None
    for epoch in range(epochs):
        model.train()
        loss_sum, samples = 0.0, 0
        stream = iter(train_loader)
        window = list(islice(stream, accum_steps))
        while window:
            for batch in window:
                out = model(**batch).loss
                (out / len(window)).backward()
                loss_sum += out.item() * len(batch["input_ids"])
                samples += len(batch["input_ids"])
            sam.first_step(zero_grad=True)
            for batch in window:
                (model(**batch).loss / len(window)).backward()
            clip_grad_norm_(model.parameters(), max_norm * len(window))
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
            window = list(islice(stream, accum_steps))
        history["train_losses"].append(loss_sum / samples)

        model.eval()
        loss_sum, samples = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                loss_sum += model(**batch).loss.item() * len(batch["input_ids"])
                samples += len(batch["input_ids"])
        history["dev_losses"].append(loss_sum / samples)
        if best is None or history["dev_losses"][epoch] < history["dev_losses"][best]:
            best = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return {**history, "best_epoch": best}
