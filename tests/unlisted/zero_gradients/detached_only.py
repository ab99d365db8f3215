# mistakes: 그래프에서 떼어 내기만 하고 0으로 만들지 않음
# lines: 7
def zero_gradients(params):
    for p in params:
        if p.grad is not None:
            p.grad.detach_()
            p.grad.requires_grad_(False)
