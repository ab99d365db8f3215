# expect: 
def sam_step(model, sam, loss_fn, xb, yb):
    if model.training:
        sam.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step(zero_grad=True)
    loss_fn(model(xb), yb).backward()
    sam.second_step()
    return loss.item()
