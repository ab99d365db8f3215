# mistakes: stops-at-none, multiplies-by-zero
# lines: 14, 10
# hidden:
import torch


def zero_gradients(params) -> None:
    def wipe(grad):
        # 자기 자신을 빼면 0이 된다
        grad.sub_(grad)

    with torch.no_grad():
        for parameter in params:
            if parameter.grad is None:
                return
            wipe(parameter.grad)
