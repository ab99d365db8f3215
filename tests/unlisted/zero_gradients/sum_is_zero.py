# mistakes: 성분의 합이 0인 그레이디언트를 이미 비었다고 보고 지우지 않음
# lines: 5
def zero_gradients(params) -> None:
    for p in params:
        if p.grad is not None and p.grad.sum() != 0:
            p.grad = None
