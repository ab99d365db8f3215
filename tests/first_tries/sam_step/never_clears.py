# mistakes: missing-zero-grad, keeps-first-gradient, returns-tensor, forces-train-mode
# lines: 12, 13, 16, 5
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    if not model.training:
        model.train()

    def forward_backward():
        loss = loss_fn(model(xb), yb)
        loss.backward()
        return loss.detach()

    loss_at_w = forward_backward()
    sam.first_step()
    forward_backward()
    sam.second_step()
    return loss_at_w
