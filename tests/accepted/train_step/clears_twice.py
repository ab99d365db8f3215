def train_step(model, opt, loss_fn, xb, yb) -> float:
    opt.zero_grad()
    out = model(xb)
    loss = loss_fn(out, yb)
    opt.zero_grad()  # 혹시 몰라서 한 번 더
    loss.backward()
    opt.step()
    return float(loss)
