# mistakes: stops-at-none, changes-gradients
# lines: 19, 9
# hidden:
import torch


def sgd_update(params, lr) -> None:
    def move(parameter):
        change = parameter.grad.mul_(-lr)
        parameter.add_(change)

    queue = iter(params)
    with torch.no_grad():
        while True:
            parameter = next(queue, None)
            if parameter is None:
                break
            if parameter.grad is None:
                break  # 건드리지 않는다
            move(parameter)
