"""A tiny character-level GPT (nanoGPT style), trained on a generated corpus."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)

block_size = 24
batch_size = 24
n_embd, n_head, n_layer = 32, 4, 2
epochs, iters_per_epoch = 12, 30
learning_rate = 3e-3

names = ["anna", "boris", "clara", "dmitri", "elena", "fedor", "galina", "henri"]
verbs = ["sees", "helps", "meets", "calls"]
text = " ".join(f"{random.choice(names)} {random.choice(verbs)} {random.choice(names)}." for _ in range(2500))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
cut = int(0.9 * len(data))
splits = {"train": data[:cut], "val": data[cut:]}


def get_batch(split):
    d = splits[split]
    ix = torch.randint(0, len(d) - block_size - 1, (batch_size,))
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + block_size] for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, n_head, c // n_head).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v)
        return self.proj(out.transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(len(chars), n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(*[Block() for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, len(chars), bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        return self.head(self.ln_f(self.blocks(x)))


@torch.no_grad()
def estimate(model):
    model.eval()
    losses = []
    for _ in range(10):
        x, y = get_batch("val")
        losses.append(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    model.train()
    return sum(losses) / len(losses)


@torch.no_grad()
def continuation_accuracy(model, n=500):
    """How often the greedy next character after a held-out context is right."""
    model.eval()
    d = splits["val"]
    ix = torch.randint(0, len(d) - block_size - 1, (n,))
    ctx = torch.stack([d[i:i + block_size] for i in ix])
    return (model(ctx)[:, -1].argmax(-1) == d[ix + block_size]).float().mean().item()


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
for epoch in range(epochs):
    for _ in range(iters_per_epoch):
        xb, yb = get_batch("train")
        loss = F.cross_entropy(model(xb).flatten(0, 1), yb.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} lr {scheduler.get_last_lr()[0]:.2e} last batch {loss.item():.4f} val {estimate(model):.4f}")
print(f"val loss {estimate(model):.4f}  next-char accuracy {continuation_accuracy(model):.4f}")
