# mistakes: keeps-first-gradient, averages-none
# lines: 16, 19
# hidden:
def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    def local_pass():
        """이 rank의 배치로 순전파와 역전파"""
        with ddp.no_sync():
            loss = loss_fn(ddp(xb), yb)
            loss.backward()
        return loss.item()

    sam.zero_grad()

    # w에서
    loss_at_w = local_pass()
    sam.first_step(zero_grad=False)

    # w + e에서
    local_pass()
    sam.second_step(zero_grad=False)

    sam.zero_grad()
    return loss_at_w
