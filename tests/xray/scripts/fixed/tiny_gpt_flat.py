# %% [markdown]
# Tiny causal transformer on arithmetic strings, e.g. "37+48=85;"
# %%
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
rnd = random.Random(2)
chars = "0123456789+=;"
stoi = {c: i for i, c in enumerate(chars)}

# %%
def sample():
    a, b = rnd.randint(0, 19), rnd.randint(0, 19)
    return f"{a:02d}+{b:02d}={a + b:02d};"

def encode(n):
    return torch.tensor([[stoi[c] for c in sample()] for _ in range(n)])

everything = encode(700)
train_ids, val_ids = everything[:120], everything[300:]
T = train_ids.shape[1]

# %%
class Layer(nn.Module):
    def __init__(self, d, heads, p):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = nn.MultiheadAttention(d, heads, dropout=p, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d), nn.Dropout(p))

    def forward(self, x, mask):
        h = self.n1(x)
        x = x + self.att(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.n2(x))

class GPT(nn.Module):
    def __init__(self, d=48, depth=2, p=0.15):
        super().__init__()
        self.tok, self.pos = nn.Embedding(len(chars), d), nn.Embedding(T, d)
        self.drop = nn.Dropout(p)
        self.layers = nn.ModuleList(Layer(d, 4, p) for _ in range(depth))
        self.out = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, len(chars)))

    def forward(self, ids):
        t = ids.shape[1]
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        x = self.drop(self.tok(ids) + self.pos(torch.arange(t)))
        for layer in self.layers:
            x = layer(x, mask)
        return self.out(x)

def lm_loss(logits, ids):
    return F.cross_entropy(logits[:, :-1].reshape(-1, len(chars)), ids[:, 1:].reshape(-1))

# %%
gpt = GPT()
opt = torch.optim.AdamW(gpt.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.05)
warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 30))

@torch.no_grad()
def report(step):
    gpt.eval()
    nll = lm_loss(gpt(val_ids), val_ids).item()
    ids = val_ids[:, :6]
    for _ in range(2):
        ids = torch.cat([ids, gpt(ids)[:, -1].argmax(-1, keepdim=True)], 1)
    right = (ids[:, 6:8] == val_ids[:, 6:8]).all(1).float().mean().item()
    print(f"step {step}: val nll {nll:.4f} sums right {right:.3f}")

# %%
gpt.train()
for step in range(300):
    if step % 100 == 0:
        report(step)
        gpt.train()
    batch = train_ids[torch.randint(len(train_ids), (48,))]
    loss = lm_loss(gpt(batch), batch)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    warm.step()
report(300)
