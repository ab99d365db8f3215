# mistakes: keeps-first-gradient
# lines: 14
# hidden:
def _forward_backward(ddp, loss_fn, xb, yb):
    value = loss_fn(ddp(xb), yb)
    value.backward()
    return value.item()


def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()
    with ddp.no_sync():
        at_w = _forward_backward(ddp, loss_fn, xb, yb)
    sam.first_step()
    _forward_backward(ddp, loss_fn, xb, yb)   # 이번에는 평균을 낸다
    sam.second_step()
    sam.zero_grad()
    return at_w
