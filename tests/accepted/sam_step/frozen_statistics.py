import torch


class frozen_bn:
    """두 번째 패스에서 배치 정규화의 이동 통계량을 움직이지 않는다."""

    def __init__(self, model):
        self.layers = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]

    def __enter__(self):
        self.momenta = [m.momentum for m in self.layers]
        for m in self.layers:
            m.momentum = 0.0

    def __exit__(self, *_):
        for m, momentum in zip(self.layers, self.momenta):
            m.momentum = momentum


def sam_step(model, sam, loss_fn, xb, yb):
    sam.zero_grad()
    with torch.random.fork_rng():
        first = loss_fn(model(xb), yb)
    first.backward()
    sam.first_step(True)
    with frozen_bn(model):
        second = loss_fn(model(xb), yb)
    second.backward()
    sam.second_step(True)
    return first.detach().item()
