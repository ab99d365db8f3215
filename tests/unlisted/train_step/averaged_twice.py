# mistakes: 이미 평균인 손실의 그레이디언트를 배치 크기로 한 번 더 나눔
# lines: 9
def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    pred = model(xb)
    loss = loss_fn(pred, yb)
    loss.backward()
    for p in model.parameters():
        p.grad /= len(xb)
    opt.step()
    return float(loss)
