# mistakes: forces-train-mode, keeps-first-gradient, returns-perturbed-loss
# lines: 4, 8, 13
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    model.train()
    sam.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step()
    # 두번째 패스
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.second_step(zero_grad=True)
    return loss.item()
