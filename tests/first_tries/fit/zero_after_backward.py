# mistakes: zero-grad-before-step, last-batch-only-loss, leaves-eval-mode
# lines: 16, 19, 20
import torch
from torch import nn


def fit(model: nn.Module, opt, loss_fn, loader, epochs, *, zero_grad=True):
    result = []
    for _ in range(epochs):
        model.train()
        for batch in loader:
            x, y = batch
            loss = loss_fn(model(x), y)
            loss.backward()
            if zero_grad:
                opt.zero_grad()
            opt.step()
        # 에폭의 손실 저장
        result.append(loss.item())
    model.eval()  # 학습 끝
    return result
