# mistakes: multiplies-by-zero
# lines: 14
# hidden:
import torch


@torch.no_grad()
def zero_gradients(params) -> None:
    for w in params:
        g = w.grad
        if g is None:
            # 아직 역전파를 안 한 매개변수
            continue
        g.sub_(g)
