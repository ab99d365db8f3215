# mistakes: unlisted(detaches the parameter), touches-none, multiplies-by-zero
# lines: 8, 10, 12
import torch


def zero_gradients(params):
    for param in params:
        param.detach_()  # 그래프에서 분리
        if param.grad is None:
            param.grad = torch.zeros_like(param)
        else:
            param.grad = param.grad * 0
