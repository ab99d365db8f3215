# mistakes: averages-none, returns-second-loss, no-zero-grad
# lines: 14, 16, 11
# hidden:
def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    def forward_backward():
        loss = loss_fn(ddp(xb), yb)
        loss.backward()
        return loss.item()

    # rank마다 따로 올라간다
    with ddp.no_sync():
        loss_value = forward_backward()
        sam.first_step(zero_grad=True)
        loss_value = forward_backward()
    sam.second_step(zero_grad=True)
    return loss_value
