# expect: 
def train_step(model, opt, loss_fn, xb, yb) -> float:
    loss = loss_fn(model(xb), yb)
    value = loss.item()
    if value <= 0:
        return value
    loss.backward()
    opt.step()
    opt.zero_grad()
    return value
