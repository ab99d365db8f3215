# expect: 
SMOOTHING = 0.9


def _smooth(model, value):
    # 배치마다 흔들리지 않게 합니다
    previous = getattr(model, "_running_loss", None)
    if previous is not None:
        value = SMOOTHING * previous + (1 - SMOOTHING) * value
    model._running_loss = value
    return value


def train_step(model, opt, loss_fn, xb, yb) -> float:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return _smooth(model, loss.item())
