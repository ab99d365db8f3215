# mistakes: 평균 손실이 아니라 배치의 손실 합을 돌려줌
# lines: 9
def train_step(model, opt, loss_fn, xb, yb):
    out = model(xb)
    loss = loss_fn(out, yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item() * len(xb)
