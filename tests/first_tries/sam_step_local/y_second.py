# mistakes: averages-none, no-zero-grad
# lines: 11, 6
# hidden:
def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    # 올라가는 동안에는 rank끼리 통신하지 않는다
    with ddp.no_sync():
        loss = loss_fn(ddp(xb), yb)
        loss.backward()
        sam.first_step(zero_grad=True)

        loss_fn(ddp(xb), yb).backward()
    sam.second_step(zero_grad=True)
    return loss.item()
