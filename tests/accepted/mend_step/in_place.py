def mend_step(model, opt, loss_fn, xb, yb):
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward()
    opt.step()
    opt.zero_grad()
