# mistakes: keeps-first-gradient
# lines: 16
# hidden:
def _loss_and_backward(net, loss_fn, xb, yb):
    value = loss_fn(net(xb), yb)
    value.backward()
    return value.item()


def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()

    # 통신 없이 내 배치로만 올라간다
    with ddp.no_sync():
        at_w = _loss_and_backward(ddp, loss_fn, xb, yb)
    sam.first_step(zero_grad=False)

    # 여기서는 rank들의 평균
    _loss_and_backward(ddp, loss_fn, xb, yb)
    sam.second_step(zero_grad=False)

    sam.zero_grad()
    return at_w
