# mistakes: 검증 배치의 샘플 수로 dict의 키 개수(len(batch))를 씀
# lines: 45
import torch
from torch.nn.utils import clip_grad_norm_


def train_qa(
    model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path
) -> dict:
    def step(window):
        sam.zero_grad()
        loss_sum = 0.0
        for batch in window:
            loss = model(**batch).loss
            (loss / len(window)).backward()
            loss_sum += loss.item() * len(batch["input_ids"])
        sam.first_step(zero_grad=True)
        for batch in window:
            (model(**batch).loss / len(window)).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        if scheduler is not None:
            scheduler.step()
        return loss_sum

    train_losses, dev_losses, best_epoch = [], [], None
    for epoch in range(epochs):
        model.train()
        total, seen, window = 0.0, 0, []
        for batch in train_loader:
            window.append(batch)
            seen += len(batch["input_ids"])
            if len(window) == accum_steps:
                total += step(window)
                window = []
        if window:
            total += step(window)
        train_losses.append(total / seen)

        model.eval()
        total, seen = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                size = len(batch)
                total += model(**batch).loss.item() * size
                seen += size
        dev_losses.append(total / seen)
        if best_epoch is None or dev_losses[-1] < dev_losses[best_epoch]:
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
