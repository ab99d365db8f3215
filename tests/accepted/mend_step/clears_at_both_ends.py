def mend_step(model, opt, loss_fn, xb, yb) -> None:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    opt.zero_grad()
