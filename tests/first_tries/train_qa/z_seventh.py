# mistakes: leftover-without-scheduler, last-of-equals, mean-of-batch-means
# lines: 69, 74, 38
# hidden:
import torch
from torch import nn


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
    updated_params = [p for group in sam.param_groups for p in group["params"]]

    def pass_over(bunch):
        """구간을 한 번 돌며 역전파하고, (손실 × 샘플 수)의 합을 돌려준다"""
        weighted = 0.0
        for batch in bunch:
            loss = model(**batch).loss
            (loss / len(bunch)).backward()
            weighted += loss.item() * len(batch["input_ids"])
        return weighted

    def dev_loss_of():
        model.eval()
        losses = []
        with torch.no_grad():
            for batch in dev_loader:
                losses.append(model(**batch).loss.item())
        model.train()
        return sum(losses) / len(losses)

    train_losses = []
    dev_losses = []
    best_dev = float("inf")
    best_epoch = 0

    for epoch in range(epochs):
        model.train()
        loss_sum, sample_count = 0.0, 0
        bunch = []
        for batch in train_loader:
            bunch.append(batch)
            sample_count += len(batch["input_ids"])
            if len(bunch) == accum_steps:
                sam.zero_grad()
                loss_sum += pass_over(bunch)
                sam.first_step(zero_grad=True)
                pass_over(bunch)
                nn.utils.clip_grad_norm_(updated_params, max_norm)
                sam.second_step(zero_grad=True)
                if scheduler is not None:
                    scheduler.step()
                bunch = []
        # 남은 배치도 업데이트
        if bunch:
            sam.zero_grad()
            loss_sum += pass_over(bunch)
            sam.first_step(zero_grad=True)
            pass_over(bunch)
            nn.utils.clip_grad_norm_(updated_params, max_norm)
            sam.second_step(zero_grad=True)

        train_losses.append(loss_sum / sample_count)
        dev = dev_loss_of()
        dev_losses.append(dev)
        if dev <= best_dev:
            best_dev = dev
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)

    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
