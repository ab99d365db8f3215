# mistakes: returns-tensor
# lines: 17
# hidden:
def sam_step(model, sam, loss_fn, xb, yb):
    def forward_backward():
        out = model(xb)
        loss = loss_fn(out, yb)
        loss.backward()
        return loss.detach()

    # 1st forward-backward pass
    loss = forward_backward()
    sam.first_step(zero_grad=True)
    # 2nd forward-backward pass
    forward_backward()
    sam.second_step(zero_grad=True)
    return loss
