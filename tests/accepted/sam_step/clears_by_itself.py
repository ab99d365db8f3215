def sam_step(model, sam, loss_fn, xb, yb):
    losses = []
    for step in (sam.first_step, sam.second_step):
        model.zero_grad(set_to_none=False)
        loss = loss_fn(model(xb), yb)
        loss.backward()
        losses.append(loss.item())
        step()
    return losses[0]
