# mistakes: averages-none, keeps-first-gradient, no-zero-grad
# lines: 6, 8, 5
# hidden:
def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    with ddp.no_sync():
        first_loss = loss_fn(ddp(xb), yb)
        first_loss.backward()
        sam.first_step()
        loss_fn(ddp(xb), yb).backward()
    sam.second_step()
    sam.zero_grad()
    return float(first_loss)
