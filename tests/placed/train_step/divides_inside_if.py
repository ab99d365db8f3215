def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= len(xb)  # here: divides-by-batch-size
    opt.step()
    return loss.item()
