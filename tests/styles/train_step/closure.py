def train_step(model, opt, loss_fn, xb, yb):
    def closure():
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        return loss

    return opt.step(closure).item()
