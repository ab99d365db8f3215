"""Knowledge distillation: a wide teacher with dropout, a narrow student."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
N_CLASS = 10


def mlp(width, dropout):
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Dropout(dropout),
                         nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout),
                         nn.Linear(width, N_CLASS))


centres = 1.1 * torch.randn(N_CLASS, 2, 16)


def make(n):
    y = torch.randint(0, N_CLASS, (n,))
    mode = torch.randint(0, 2, (n,))
    return centres[y, mode] + torch.randn(n, 16), y


def batches(x, y, size):
    order = torch.randperm(len(x))
    for i in range(0, len(x), size):
        idx = order[i:i + size]
        yield x[idx], y[idx]


def test_accuracy(model, x, y):
    was_training = model.training
    model.eval()
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    model.train(was_training)
    return acc


class DistillationLoss(nn.Module):
    def __init__(self, temperature=3.0, alpha=0.95):
        super().__init__()
        self.t = temperature
        self.alpha = alpha

    def forward(self, student_logits, teacher_logits, labels):
        soft_teacher = F.softmax(teacher_logits / self.t, dim=1)
        soft_student = F.log_softmax(student_logits / self.t, dim=1)
        soft = F.kl_div(soft_student, soft_teacher, reduction="batchmean") * self.t ** 2
        hard = F.cross_entropy(student_logits, labels)
        return self.alpha * soft + (1 - self.alpha) * hard


x_train, y_train = make(2000)
x_test, y_test = make(2000)
x_small, y_small = x_train[:300], y_train[:300]

# --- teacher
teacher = mlp(128, 0.5)
opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
teacher.train()
for epoch in range(20):
    for xb, yb in batches(x_train, y_train, 64):
        opt.zero_grad()
        F.cross_entropy(teacher(xb), yb).backward()
        opt.step()
print(f"teacher test accuracy {test_accuracy(teacher, x_test, y_test):.4f}")

# --- student
for p in teacher.parameters():
    p.requires_grad_(False)
teacher.eval()
student = mlp(24, 0.0)
criterion = DistillationLoss()
opt = torch.optim.Adam(student.parameters(), lr=3e-3)
student.train()
for epoch in range(40):
    total = 0.0
    for xb, yb in batches(x_small, y_small, 50):
        with torch.no_grad():
            t_logits = teacher(xb)
        opt.zero_grad()
        loss = criterion(student(xb), t_logits, yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1} distillation loss {total / len(x_small):.4f}")
print(f"student test accuracy {test_accuracy(student, x_test, y_test):.4f}")
