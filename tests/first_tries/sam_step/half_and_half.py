# mistakes: halves-the-losses
# lines: 10
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()
    loss = loss_fn(model(xb), yb)
    (loss / 2).backward()  # 두 번 나눠서 하니까 절반씩
    sam.first_step(zero_grad=True)

    loss_2 = loss_fn(model(xb), yb)
    (loss_2 / 2).backward()
    sam.second_step(zero_grad=True)
    return loss.item()
