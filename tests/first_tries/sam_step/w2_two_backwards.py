# mistakes: keeps-first-gradient, returns-perturbed-loss
# lines: 8, 14
# hidden:
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    # 첫 번째 패스
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step()

    # 두 번째 패스
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.second_step(zero_grad=True)
    return loss.item()
