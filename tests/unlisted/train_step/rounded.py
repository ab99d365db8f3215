# mistakes: 손실을 소수 셋째 자리로 반올림해 돌려줌
# lines: 8
def train_step(model, opt, loss_fn, xb, yb) -> float:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return round(loss.item(), 3)
