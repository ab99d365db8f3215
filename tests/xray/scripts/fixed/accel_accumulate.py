# 🤗 accelerate, gradient accumulation
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x):
        return x + self.body(x)


def get_dataloaders(batch_size):
    g = torch.Generator().manual_seed(11)
    x = torch.randn(1280, 16, generator=g)
    y = ((x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2] + x[:, 3] > 0).long())
    train = TensorDataset(x[:1024], y[:1024])
    val = TensorDataset(x[1024:], y[1024:])
    return DataLoader(train, batch_size=batch_size, shuffle=True), DataLoader(val, batch_size=128)


def training_function(config):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=config["accum"])
    set_seed(config["seed"])
    train_dl, val_dl = get_dataloaders(config["batch_size"])
    model = nn.Sequential(nn.Linear(16, 48), Residual(48), Residual(48), nn.Linear(48, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
    model, optimizer, train_dl, val_dl = accelerator.prepare(model, optimizer, train_dl, val_dl)

    for epoch in range(config["num_epochs"]):
        model.train()
        total = 0.0
        for batch in train_dl:
            with accelerator.accumulate(model):
                inputs, labels = batch
                loss = F.cross_entropy(model(inputs), labels)
                total += loss.item()
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        val_loss, correct = 0.0, 0
        for inputs, labels in val_dl:
            with torch.no_grad():
                logits = model(inputs)
            val_loss += F.cross_entropy(logits, labels)
            correct += (logits.argmax(dim=-1) == labels).sum()
        accelerator.print(f"epoch {epoch}: train {total / len(train_dl):.4f} val {val_loss / len(val_dl):.4f} "
                          f"acc {correct / 256:.4f}")


training_function({"lr": 0.05, "num_epochs": 6, "seed": 42, "batch_size": 16, "accum": 4})
