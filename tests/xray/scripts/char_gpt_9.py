import math

import torch
import torch.nn as nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(1337)
block_size, batch_size = 32, 24
n_embd, n_head, n_layer = 32, 2, 1
max_iters, warmup, max_lr, min_lr = 120, 15, 2e-2, 3e-4

words = ["ada", "bit", "code", "disk", "echo", "file", "grep", "hash"]
nxt = {w: [words[(i * 3 + k) % len(words)] for k in (1, 2)] for i, w in enumerate(words)}
text, w = [], words[0]
for _ in range(2500):
    text.append(w)
    w = nxt[w][int(torch.randint(0, 2, (1,)))]
text = " ".join(text)
stoi = {c: i for i, c in enumerate(sorted(set(text)))}
data = torch.tensor([stoi[c] for c in text])


class CharDataset(Dataset):
    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data) - block_size - 1

    def __getitem__(self, i):
        chunk = self.data[i:i + block_size + 1]
        return chunk[:-1], chunk[1:]


class GPT(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.wte = nn.Embedding(vocab, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        layer = nn.TransformerEncoderLayer(n_embd, n_head, 4 * n_embd, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, n_layer, enable_nested_tensor=False)
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab, bias=False)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(block_size))

    def forward(self, idx, targets=None):
        T = idx.size(1)
        x = self.wte(idx) + self.wpe(torch.arange(T))
        logits = self.lm_head(self.ln_f(self.blocks(x, mask=self.mask[:T, :T], is_causal=True)))
        if targets is None:
            return logits, None
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten())
        return logits, loss


def get_lr(it):
    if it < warmup:
        return max_lr * (it + 1) / warmup
    t = (it - warmup) / (max_iters - warmup)
    return min_lr + 0.5 * (max_lr - min_lr) * (1 + math.cos(math.pi * t))


split = int(0.9 * len(data))
train_loader = DataLoader(CharDataset(data[:split]), batch_size=batch_size, shuffle=True)
val_ds = CharDataset(data[split:])
model = GPT(len(stoi))
optimizer = torch.optim.AdamW(model.parameters(), lr=max_lr, betas=(0.9, 0.95), weight_decay=0.01)


@torch.no_grad()
def next_char_accuracy(n=64):
    model.eval()
    x, y = map(torch.stack, zip(*[val_ds[i * 7] for i in range(n)]))
    logits, _ = model(x)
    model.train()
    return (logits[:, -8:].argmax(-1) == y[:, -8:]).float().mean().item()


it = 0
while it < max_iters:
    for xb, yb in train_loader:
        lr = get_lr(it)
        _, loss = model(xb, yb)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if it % 30 == 29:
            print(f"iter {it + 1}: loss {loss.item():.4f}, lr {lr:.2e}, next-char acc {next_char_accuracy():.3f}")
        it += 1
        if it == max_iters:
            break
