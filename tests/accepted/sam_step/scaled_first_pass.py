from torch.nn.utils import clip_grad_norm_


def sam_step(model, sam, loss_fn, xb, yb):
    # 첫 번째 그레이디언트는 방향만 쓰이므로 몇 배를 하든, 자르든 같다
    sam.zero_grad()
    out = model(xb)
    loss = loss_fn(out, yb)
    (loss * 16.0).backward()
    clip_grad_norm_(model.parameters(), 0.1)
    sam.first_step(zero_grad=True)
    loss_fn(model(xb), yb).backward()
    sam.second_step()
    return loss.item()
