"""Semi-supervised mean teacher. The teacher follows at the start of the next step, so that
the student's newest weights are included only once the step is known to be good; a last
call after the loop brings it up to date."""
import copy
import torch
from torch import nn
import torch.nn.functional as F


class Teacher:
    def __init__(self, student, decay):
        self.net = copy.deepcopy(student).requires_grad_(False).eval()
        self.decay, self.pending = decay, False

    def catch_up(self, student):
        if not self.pending:
            return
        with torch.no_grad():
            for t, s in zip(self.net.parameters(), student.parameters()):
                t.mul_(self.decay).add_(s, alpha=1 - self.decay)
        self.pending = False


def halves(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(2, (n,), generator=g)
    t = torch.rand(n, generator=g) * 3.1416
    x = torch.stack([t.cos() + y, t.sin() * (1 - 2 * y.float()) + 0.4 * y], 1)
    return x + 0.1 * torch.randn(n, 2, generator=g), y


torch.manual_seed(8)
lx, ly = halves(40, 1)
ux, _ = halves(800, 2)
vx, vy = halves(400, 3)
student = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
teacher = Teacher(student, 0.95)
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
steps = 0
for epoch in range(8):
    student.train()
    for ids in torch.randperm(len(ux)).split(40):
        teacher.catch_up(student)
        ramp = min(1.0, steps / 60)
        sup = F.cross_entropy(student(lx), ly)
        with torch.no_grad():
            aim = teacher.net(ux[ids]).softmax(-1)
        con = F.mse_loss(student(ux[ids] + 0.05 * torch.randn_like(ux[ids])).softmax(-1), aim)
        loss = sup + 2 * ramp * con
        opt.zero_grad()
        loss.backward()
        opt.step()
        teacher.pending = True
        steps += 1
    with torch.no_grad():
        acc = (teacher.net(vx).argmax(1) == vy).float().mean().item()
    print(f"epoch {epoch} supervised {sup.item():.4f} consistency {con.item():.5f} teacher acc {acc:.4f}")
teacher.catch_up(student)
with torch.no_grad():
    print("final teacher acc", (teacher.net(vx).argmax(1) == vy).float().mean().item())
