def train_step(model, opt, loss_fn, xb, yb) -> float:
    pred = model(xb)
    loss = loss_fn(pred, yb)
    opt.zero_grad(set_to_none=False)
    loss.backward()
    opt.step()
    return loss.detach().cpu().item()
