import torch


def sgd_update(params, lr):
    torch.optim.SGD(list(params), lr=lr).step()
