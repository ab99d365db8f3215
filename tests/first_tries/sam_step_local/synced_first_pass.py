# mistakes: averages-both, keeps-first-gradient, returns-second-loss
# lines: 8, 9, 16
# hidden:
def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()
    # 첫 번째 패스: w에서
    loss = loss_fn(ddp(xb), yb)
    loss.backward()
    sam.first_step()

    # 두 번째 패스: w + e에서
    loss = loss_fn(ddp(xb), yb)
    loss.backward()
    sam.second_step()
    sam.zero_grad()
    return loss.item()
