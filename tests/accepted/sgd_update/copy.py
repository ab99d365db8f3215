import torch


def sgd_update(params, lr):
    with torch.inference_mode(False), torch.no_grad():
        for p in params:
            if p.grad is not None:
                p.copy_(p - lr * p.grad)
