# mistakes: 손실이 아니라 로짓에 weight를 곱함
# lines: 6
def add_gradient(model, loss_fn, xb, yb, weight):
    out = model(xb)
    plain = loss_fn(out, yb)
    loss = loss_fn(out * weight, yb)
    loss.backward()
    return plain.item()
