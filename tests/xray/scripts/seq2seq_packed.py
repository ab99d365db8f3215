import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS, FIRST = 0, 1, 2, 3
N_TOK = 20


class ReverseSet(Dataset):
    def __init__(self, n, seed):
        r = random.Random(seed)
        self.rows = [[r.randrange(FIRST, N_TOK) for _ in range(r.randint(2, 12))] for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, k):
        row = self.rows[k]
        return torch.tensor(row), torch.tensor([BOS, *reversed(row), EOS])


def collate_fn(pairs):
    src, tgt = zip(*pairs)
    lengths = torch.tensor([len(s) for s in src])
    return pad_sequence(src, batch_first=True), lengths, pad_sequence(tgt, batch_first=True)


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(N_TOK, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, src, lengths):
        packed = pack_padded_sequence(self.embed(src), lengths, batch_first=True, enforce_sorted=False)
        out, h = self.rnn(packed)
        return pad_packed_sequence(out, batch_first=True)[0], h


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(N_TOK, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(2 * dim, N_TOK)

    def forward(self, tgt_in, memory, h, mask):
        out, h = self.rnn(self.embed(tgt_in), h)
        att = (out @ memory.transpose(1, 2)).masked_fill(~mask[:, None], -1e9).softmax(-1)
        return self.out(torch.cat([out, att @ memory], -1))


def run_epoch(enc, dec, loader, loss_fn, opt=None):
    enc.train(opt is not None)
    dec.train(opt is not None)
    loss_sum, right, count = 0.0, 0, 0
    with torch.set_grad_enabled(opt is not None):
        for src, lengths, tgt in loader:
            memory, h = enc(src, lengths)
            logits = dec(tgt[:, :-1], memory, h, src != PAD)
            gold = tgt[:, 1:]
            loss = loss_fn(logits.reshape(-1, N_TOK), gold.reshape(-1))
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*enc.parameters(), *dec.parameters()], 1.0)
                opt.step()
            loss_sum += loss.item() * len(src)
            guess = logits.argmax(-1)
            right += (guess == gold).sum().item()
            count += gold.numel()
    return loss_sum / len(loader.dataset), right / count


if __name__ == "__main__":
    torch.manual_seed(0)
    train_dl = DataLoader(ReverseSet(512, 0), batch_size=32, shuffle=True, collate_fn=collate_fn)
    dev_dl = DataLoader(ReverseSet(128, 1), batch_size=64, collate_fn=collate_fn)
    enc, dec = Encoder(48), Decoder(48)
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)
    for epoch in range(6):
        tr = run_epoch(enc, dec, train_dl, loss_fn, opt)
        dv = run_epoch(enc, dec, dev_dl, loss_fn)
        print(f"{epoch}: train {tr[0]:.3f}/{tr[1]:.3f} dev {dv[0]:.3f}/{dv[1]:.3f}")
