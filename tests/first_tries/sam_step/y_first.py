# mistakes: keeps-first-gradient
# lines: 12
# hidden:
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    def closure():
        loss = loss_fn(model(xb), yb)
        loss.backward()
        return loss.item()

    sam.zero_grad()
    here = closure()
    sam.first_step()

    # 올라간 곳에서 다시
    closure()
    sam.second_step(zero_grad=True)
    return here
