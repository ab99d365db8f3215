# expect: prints
def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    print("loss:", loss.item())
    loss.backward()
    opt.step()
    return loss.item()
