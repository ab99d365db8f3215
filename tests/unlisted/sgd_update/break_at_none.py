# mistakes: grad가 None인 매개변수를 만나면 건너뛰지 않고 멈춰서 뒤의 것을 업데이트하지 않음
# lines: 10
import torch


@torch.no_grad()
def sgd_update(params, lr) -> None:
    for p in params:
        if p.grad is None:
            break
        p -= lr * p.grad
