def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()
    # 합칠지는 순전파에서 정해진다: 역전파는 밖에 있어도 된다
    with ddp.no_sync():
        output = ddp(xb)
    at_w = loss_fn(output, yb)
    at_w.backward()
    sam.first_step(zero_grad=True)
    again = loss_fn(ddp(xb), yb)
    again.backward()
    sam.second_step(zero_grad=True)
    return float(at_w.detach())
