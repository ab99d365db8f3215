# mistakes: forces-train-mode, uninvited-clipping, returns-tensor
# lines: 8, 22, 25

import torch


def sam_step(model, sam, loss_fn, xb, yb):
    model.train()

    def forward_backward():
        out = model(xb)
        loss = loss_fn(out, yb)
        loss.backward()
        return loss

    sam.zero_grad()
    first_loss = forward_backward()
    sam.first_step(zero_grad=True)

    forward_backward()
    # gradient 폭발 방지
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    sam.second_step(zero_grad=True)

    return first_loss.detach()
