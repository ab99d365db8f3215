# mistakes: forces-train-mode, missing-zero-grad, returns-loss-after-update
# lines: 4, 7, 9
def train_step(model, opt, loss_fn, xb, yb) -> float:
    model.train()  # 학습이니까
    pred = model(xb)
    loss = loss_fn(pred, yb)
    loss.backward()
    opt.step()
    loss = loss_fn(model(xb), yb)
    return loss.item()
