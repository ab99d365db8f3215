"""Knowledge distillation; the job is pre-empted half-way and resumed."""
import copy
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

T = 2.0


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def soft_loss(student_logits, teacher_logits):
    s = F.softmax(student_logits / T, dim=1)
    t = F.softmax(teacher_logits / T, dim=1)
    return F.kl_div(s, t, reduction="batchmean") * T * T


class Job:
    def __init__(self, teacher, student, lr):
        self.teacher, self.student = teacher, student
        self.opt = torch.optim.Adam(student.parameters(), lr=lr, betas=(0.9, 0.999))
        self.epoch = 0

    def save(self):
        return copy.deepcopy({"model": self.student.state_dict(), "opt": self.opt.state_dict(), "epoch": self.epoch})

    def load(self, ckpt):
        self.student.load_state_dict(ckpt["model"])
        self.epoch = ckpt["epoch"]

    def fit(self, loader, test, until):
        while self.epoch < until:
            self.student.train()
            tot = 0.0
            for x, y in loader:
                with torch.no_grad():
                    target = self.teacher(x)
                out = self.student(x)
                loss = 0.1 * F.cross_entropy(out, y) + 0.9 * soft_loss(out, target)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                tot += loss.item() * len(y)
            self.epoch += 1
            print(f"epoch {self.epoch} loss {tot / len(loader.dataset):.4f} acc {accuracy(self.student, test):.4f}")


def accuracy(net, data):
    x, y = data
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


torch.manual_seed(35)
proto = torch.randn(6, 3, 18)
def sample(n):
    y = torch.randint(0, 6, (n,))
    return proto[y, torch.randint(0, 3, (n,))] + 0.9 * torch.randn(n, 18), y


train, test = sample(900), sample(600)
loader = DataLoader(TensorDataset(*train), batch_size=45, shuffle=True)

teacher = mlp(18, 128, 6)
t_opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for x, y in [b for _ in range(6) for b in loader]:
    t_opt.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    t_opt.step()
teacher.eval().requires_grad_(False)
print(f"teacher acc {accuracy(teacher, test):.4f}")

job = Job(teacher, mlp(18, 20, 6), lr=1e-2)
job.fit(loader, test, until=5)
ckpt = job.save()
del job

job = Job(teacher, mlp(18, 20, 6), lr=1e-2)
job.load(ckpt)
job.fit(loader, test, until=10)
