# mistakes: second-pass-without-forward, forces-train-mode, returns-tensor
# lines: 12, 5, 14
# hidden: forces-train-mode, returns-tensor
def sam_step(model, sam, loss_fn, xb, yb):
    model.train()
    output = model(xb)
    loss = loss_fn(output, yb)

    # 두 번 backward 하려면 그래프가 남아 있어야 한다
    loss.backward(retain_graph=True)
    sam.first_step(zero_grad=True)
    loss.backward()
    sam.second_step(zero_grad=True)
    return loss
