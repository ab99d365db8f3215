"""Packed documents, labels = input_ids (the model shifts), -100 at prompt tokens, decay groups."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

VOCAB, SEQ, EOS = 40, 32, 0


class Packed(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        stream = []
        while len(stream) < n * SEQ:
            start, size = (torch.randint(1, 20, (2,), generator=g)).tolist()
            stream += [1 + (start + 2 * k) % (VOCAB - 1) for k in range(size + 4)] + [EOS]
        self.rows = torch.tensor(stream[: n * SEQ]).view(n, SEQ)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = self.rows[i]
        labels = ids.clone()
        labels[:4] = -100
        return {"input_ids": ids, "labels": labels}


class LM(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb, self.pos = nn.Embedding(VOCAB, d), nn.Parameter(torch.zeros(SEQ, d))
        self.layer = nn.TransformerEncoderLayer(d, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, VOCAB, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, input_ids, labels):
        n = input_ids.size(1)
        h = self.layer(self.emb(input_ids) + self.pos[:n], src_mask=nn.Transformer.generate_square_subsequent_mask(n), is_causal=True)
        logits = self.head(self.norm(h))
        return {"loss": F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100), "logits": logits}


def groups(model, wd):
    decay = {n: p for n, p in model.named_parameters() if p.dim() >= 2}
    return [{"params": list(decay.values()), "weight_decay": wd},
            {"params": [p for n, p in model.named_parameters() if n not in decay], "weight_decay": 0.0}]


torch.manual_seed(0)
model = LM()
nn.init.normal_(model.emb.weight, std=0.02)
optimizer = torch.optim.AdamW(groups(model, 0.1), lr=3e-3, betas=(0.9, 0.95))
train_dl = DataLoader(Packed(256, 0), batch_size=16, shuffle=True)
eval_dl = DataLoader(Packed(48, 1), batch_size=16)
sched = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 8))
for epoch in range(4):
    model.train()
    for batch in train_dl:
        loss = model(**batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sched.step()
    model.eval()
    nll = count = 0
    with torch.inference_mode():
        for batch in eval_dl:
            n = (batch["labels"][:, 1:] != -100).sum().item()
            nll += model(**batch)["loss"].item() * n
            count += n
    print(f"epoch {epoch} train {loss.item():.3f} eval {nll / count:.3f}")
