# expect: 
def train_step(model, opt, loss_fn, xb, yb):
    if model.training:
        opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()
