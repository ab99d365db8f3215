# mistakes: scales-everything, fills-none-gradients, forward-twice
# lines: 19, 13, 23
# hidden:
import torch


def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    def measure():
        return loss_fn(model(xb), yb)

    trainable = [p for p in model.parameters() if p.requires_grad]
    # 손실이 닿지 않는 것은 None이 나와서 곱할 수가 없으니 0으로 채운다
    new_grads = torch.autograd.grad(measure(), trainable, materialize_grads=True)

    for p, g in zip(trainable, new_grads):
        if p.grad is None:
            p.grad = g * weight
        else:
            p.grad = (p.grad + g) * weight

    # 곱하기 전의 손실
    with torch.no_grad():
        return measure().item()
