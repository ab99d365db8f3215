"""Student matched to teacher's probabilities; soft labels for cross entropy; teacher stays in eval."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(600, 10)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
train_dl = DataLoader(TensorDataset(x[:480], y[:480]), batch_size=40, shuffle=True)
test_dl = DataLoader(TensorDataset(x[480:], y[480:]), batch_size=60)
teacher = nn.Sequential(nn.Linear(10, 80), nn.ReLU(), nn.Dropout(0.3), nn.Linear(80, 3))
student = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 3))

opt_t = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for xb, yb in train_dl:
    opt_t.zero_grad()
    F.cross_entropy(teacher(xb), F.one_hot(yb, 3).float() * 0.9 + 0.1 / 3).backward()
    opt_t.step()

teacher.eval()
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
for epoch in range(6):
    student.train()
    for xb, yb in train_dl:
        with torch.no_grad():
            target = teacher(xb).softmax(1)
        out = student(xb)
        loss = F.cross_entropy(out, target) + F.mse_loss(out.softmax(1), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    student.eval()
    with torch.no_grad():
        val = sum(F.cross_entropy(student(a), b, reduction="sum").item() for a, b in test_dl) / 120
    sched.step(val)
    print(epoch, f"{val:.4f}", opt.param_groups[0]["lr"])
