# mistakes: averages-both
# lines: 15
# hidden:
import torch


def _forward_loss(net, loss_fn, xb, yb):
    return loss_fn(net(xb), yb)


def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()

    # 첫 번째 패스는 합치지 않는다
    first = _forward_loss(ddp, loss_fn, xb, yb)
    with ddp.no_sync():
        first.backward()
    sam.first_step(zero_grad=True)

    # 두 번째 패스는 평균을 낸다
    second = _forward_loss(ddp, loss_fn, xb, yb)
    second.backward()
    sam.second_step(zero_grad=True)

    return first.item()
