# mistakes: rounded-loss
# lines: 8
def train_step(model, opt, loss_fn, xb, yb) -> float:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return round(loss.item(), 4)
