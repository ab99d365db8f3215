# mistakes: averages-both
# lines: 9
# hidden:
def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    def compute_loss():
        return loss_fn(ddp(xb), yb)

    sam.zero_grad()
    loss = compute_loss()
    # 첫 번째 패스는 합치지 않는다: 통신은 역전파에서 일어나니까 역전파만 감싼다
    with ddp.no_sync():
        loss.backward()
    sam.first_step(zero_grad=True)

    compute_loss().backward()
    sam.second_step(zero_grad=True)
    return loss.item()
