# mistakes: None을 만나면 건너뛰지 않고 멈춤(break)
# lines: 6
def zero_gradients(params) -> None:
    for p in params:
        if p.grad is None:
            break
        p.grad = None
