# week4 hwang
import math
import torch
import torch.nn as nn
import torch.optim as optim


class SAM(optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("Invalid rho")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups
        self.saved = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        sq = 0
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    v = p.abs() * p.grad if g["adaptive"] else p.grad
                    sq = sq + (v * v).sum()
        norm = torch.sqrt(sq)
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    self.saved[p] = p.detach().clone()
                    d = p * p * p.grad if g["adaptive"] else p.grad
                    p.add_(d * (g["rho"] / norm))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p in list(self.saved):
            p.copy_(self.saved.pop(p))
        self.base.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base.state_dict()

    def load_state_dict(self, sd):
        self.base.load_state_dict(sd)
        self.param_groups = self.base.param_groups


def sam_step(model, sam, loss_fn, xb, yb):
    sam.zero_grad()
    output = model(xb)
    loss = loss_fn(output, yb)
    loss.backward(retain_graph=True)
    sam.first_step(zero_grad=True)
    loss.backward()
    sam.second_step(zero_grad=True)
    return loss.item()


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    losses, window = [], []
    for i, (xb, yb) in enumerate(micro_batches):
        window.append((xb, yb))
        if (i + 1) % accum_steps != 0:
            continue
        total = 0.0
        for x, y in window:
            loss = loss_fn(model(x), y) / accum_steps
            loss.backward()
            total += loss.item()
        sam.first_step(zero_grad=True)
        for x, y in window:
            (loss_fn(model(x), y) / accum_steps).backward()
        if max_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(total)
        window = []
    return losses


def sharpness(model, loss_fn, xb, yb, *, rho):
    params = [p for p in model.parameters() if p.requires_grad]
    weights = [p.data.clone() for p in params]
    bufs = [b.clone() for b in model.buffers()]
    state = torch.get_rng_state()
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    norm = math.sqrt(sum((g ** 2).sum().item() for g in grads))
    torch.set_rng_state(state)   # same dropout mask
    with torch.no_grad():
        for p, g in zip(params, grads):
            p.add_(rho * g / norm)
        loss2 = loss_fn(model(xb), yb)
        for p, w in zip(params, weights):
            p.copy_(w)
        for b, old in zip(model.buffers(), bufs):
            b.copy_(old)
    return (loss2 - loss).item()


def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path):
    train_losses, dev_losses = [], []
    best_score, best_epoch = -1e9, None
    for epoch in range(epochs):
        model.train()
        meter_sum, meter_n = 0.0, 0
        batches = list(train_loader)
        for start in range(0, len(batches), accum_steps):
            window = batches[start:start + accum_steps]
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
                meter_sum += loss.item() * batch["input_ids"].size(0)
                meter_n += batch["input_ids"].size(0)
            sam.first_step(zero_grad=True)
            for batch in window:
                (model(**batch).loss / len(window)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        train_losses.append(meter_sum / meter_n)

        model.eval()
        meter_sum, meter_n = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                meter_sum += model(**batch).loss.item() * batch["input_ids"].size(0)
                meter_n += batch["input_ids"].size(0)
        score = meter_sum / meter_n
        dev_losses.append(score)
        # remember best acc@1 and save checkpoint
        if score > best_score:
            best_score, best_epoch = score, epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}


if __name__ == "__main__":
    m = nn.Linear(3, 2)
    s = SAM(m.parameters(), optim.SGD, lr=0.1)
    print(sam_step(m, s, nn.CrossEntropyLoss(), torch.randn(4, 3), torch.tensor([0, 1, 0, 1])))
