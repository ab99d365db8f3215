# mistakes: 둘째 패스에서 배치의 앞 절반만 봄
# lines: 9
def sam_step(model, sam, loss_fn, xb, yb):
    sam.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step(zero_grad=True)
    half = len(xb) // 2
    loss_fn(model(xb[:half]), yb[:half]).backward()
    sam.second_step(zero_grad=True)
    return loss.item()
