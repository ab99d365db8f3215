# 윤카이, 두 번째 파일 (이건 진짜로 풂)
import torch


def sgd_update(params, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad
