import math
import torch
import torch.nn as nn
import torch.nn.functional as F

config = {
    "block_size": 24,
    "vocab": 17,
    "n_layer": 2,
    "n_head": 4,
    "n_embd": 32,
    "batch": 16,
    "epochs": 5,
    "steps_per_epoch": 10,
    "warmup": 8,
    "lr": 3e-3,
}


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, mask):
        y = self.ln1(x)
        x = x + self.attn(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class MiniGPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok = nn.Embedding(c["vocab"], c["n_embd"])
        self.pos = nn.Embedding(c["block_size"], c["n_embd"])
        self.blocks = nn.ModuleList(Block(c["n_embd"], c["n_head"]) for _ in range(c["n_layer"]))
        self.ln_f = nn.LayerNorm(c["n_embd"])
        self.head = nn.Linear(c["n_embd"], c["vocab"], bias=False)

    def forward(self, idx):
        T = idx.size(1)
        mask = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
        x = self.tok(idx) + self.pos(torch.arange(T))
        for blk in self.blocks:
            x = blk(x, mask)
        return self.head(self.ln_f(x))


def get_stream(n, seed):
    """second order recurrence with some noise"""
    g = torch.Generator().manual_seed(seed)
    s = [1, 2]
    noise = torch.rand(n, generator=g)
    rnd = torch.randint(0, 17, (n,), generator=g)
    for i in range(n - 2):
        s.append(int(rnd[i]) if noise[i] < 0.05 else (s[-1] + s[-2]) % 17)
    return torch.tensor(s)


def get_batch(stream, c):
    ix = torch.randint(0, len(stream) - c["block_size"] - 1, (c["batch"],))
    x = torch.stack([stream[i:i + c["block_size"]] for i in ix])
    y = torch.stack([stream[i + 1:i + 1 + c["block_size"]] for i in ix])
    return x, y


def lr_lambda(step):
    total = config["epochs"] * config["steps_per_epoch"]
    if step < config["warmup"]:
        return (step + 1) / config["warmup"]
    frac = (step - config["warmup"]) / (total - config["warmup"])
    return 0.1 + 0.45 * (1 + math.cos(math.pi * frac))


torch.manual_seed(42)
train_stream, val_stream = get_stream(4000, 0), get_stream(1000, 1)
model = MiniGPT(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)

for epoch in range(config["epochs"]):
    model.train()
    tot = 0.0
    for step in range(config["steps_per_epoch"]):
        x, y = get_batch(train_stream, config)
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, config["vocab"]), y.reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        tot += loss.item()
    model.eval()
    with torch.no_grad():
        vals = []
        for _ in range(4):
            x, y = get_batch(val_stream, config)
            vals.append(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    print(f"epoch {epoch} train {tot / config['steps_per_epoch']:.4f} val {sum(vals) / 4:.4f} "
          f"lr {scheduler.get_last_lr()[0]:.2e}")
