"""Accelerate with accumulation, clipping on sync steps and a prepared scheduler."""
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset
from transformers import get_cosine_schedule_with_warmup


class Sessions(Dataset):
    """clicks in a web shop; target: will the visitor buy?"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(0, 30, (n, 10), generator=g)
        self.y = ((self.ids == 3).any(1) ^ (self.ids == 7).any(1)).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"ids": self.ids[i], "label": self.y[i]}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 24)
        self.ff = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, ids):
        return self.ff(self.emb(ids).amax(1))


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=3)
    set_seed(0)
    epochs = 6
    train_dl = DataLoader(Sessions(960, 0), batch_size=16, shuffle=True)
    eval_dl = DataLoader(Sessions(320, 1), batch_size=80)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.2e-2)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 8, epochs * len(train_dl) // 3)
    model, optimizer, train_dl, eval_dl, scheduler = accelerator.prepare(model, optimizer, train_dl, eval_dl, scheduler)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for batch in train_dl:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(batch["ids"]), batch["label"])
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            total += loss.detach().item()
        model.eval()
        good = seen = 0
        for batch in eval_dl:
            with torch.no_grad():
                pred = model(batch["ids"]).argmax(-1)
            pred, ref = accelerator.gather_for_metrics((pred, batch["label"]))
            good += (pred == ref).sum().item()
            seen += ref.numel()
        accelerator.print(f"epoch {epoch} loss {total / len(train_dl):.4f} acc {good / seen:.4f} "
                          f"lr {scheduler.get_last_lr()[0]:.2e}")


if __name__ == "__main__":
    main()
