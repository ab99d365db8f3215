# mistakes: mean-of-batch-means, leaves-eval-mode|missing-train-mode, last-of-equals
# lines: 16, 55, 70
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def _샘플_수(batch):
    return batch["input_ids"].shape[0]


@torch.no_grad()
def _검증_손실(model, loader):
    model.eval()
    losses = [model(**batch).loss.item() for batch in loader]
    return sum(losses) / len(losses)


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
    매개변수 = [p for group in sam.param_groups for p in group["params"]]

    def 패스(구간):
        손실합 = 0.0
        for batch in 구간:
            loss = model(**batch).loss
            (loss / len(구간)).backward()
            손실합 += loss.item() * _샘플_수(batch)
        return 손실합

    def 업데이트(구간):
        sam.zero_grad()
        손실합 = 패스(구간)
        sam.first_step(zero_grad=True)
        패스(구간)
        if max_norm is not None:
            clip_grad_norm_(매개변수, max_norm)
        sam.second_step(zero_grad=True)
        if scheduler is not None:
            scheduler.step()
        return 손실합

    결과 = {"train_losses": [], "dev_losses": [], "best_epoch": 0}
    가장_낮은 = None
    model.train()
    for epoch in range(epochs):
        모은_것, 손실합, 개수 = [], 0.0, 0
        for batch in train_loader:
            모은_것.append(batch)
            개수 += _샘플_수(batch)
            if len(모은_것) == accum_steps:
                손실합 += 업데이트(모은_것)
                모은_것 = []
        if 모은_것:
            손실합 += 업데이트(모은_것)
        결과["train_losses"].append(손실합 / 개수)

        검증 = _검증_손실(model, dev_loader)
        결과["dev_losses"].append(검증)
        if 가장_낮은 is None or 검증 <= 가장_낮은:
            가장_낮은 = 검증
            결과["best_epoch"] = epoch
            torch.save(model.state_dict(), checkpoint_path)
    return 결과
