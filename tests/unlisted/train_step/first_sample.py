# mistakes: 배치 전체가 아니라 첫 샘플만 모델에 넣음
# lines: 5
def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    loss = loss_fn(model(xb[:1]), yb[:1])
    loss.backward()
    opt.step()
    return loss.item()
