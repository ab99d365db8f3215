# mistakes: averages-both, returns-second-loss
# lines: 6, 9
# hidden:
def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()
    loss = loss_fn(ddp(xb), yb)
    loss.backward()
    sam.first_step(zero_grad=True)
    loss = loss_fn(ddp(xb), yb)
    loss.backward()
    sam.second_step(zero_grad=True)
    return loss.item()
