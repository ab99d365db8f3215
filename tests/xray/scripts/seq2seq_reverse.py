import argparse
import time

import torch
from torch import nn, optim

PAD, BOS, EOS = 0, 1, 2


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=260)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--hidden", type=int, default=48)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--lr", type=float, default=0.04)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def sample_batch(n, gen):
    """입력 숫자열을 뒤집는 문제. 길이는 2~9, 짧은 것이 훨씬 많다."""
    lens = (torch.rand(n, generator=gen).pow(3) * 8).long() + 2
    width = 9
    src = torch.zeros(n, width, dtype=torch.long)
    tgt = torch.zeros(n, width + 2, dtype=torch.long)
    for i, l in enumerate(lens.tolist()):
        seq = torch.randint(3, 13, (l,), generator=gen)
        src[i, :l] = seq
        tgt[i, 0] = BOS
        tgt[i, 1:l + 1] = seq.flip(0)
        tgt[i, l + 1] = EOS
    return src, tgt


class Encoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.emb = nn.Embedding(13, hidden, padding_idx=PAD)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)

    def forward(self, src):
        out, _ = self.rnn(self.emb(src))
        return out


class Decoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.emb = nn.Embedding(13, hidden, padding_idx=PAD)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.q = nn.Linear(hidden, 2 * hidden)
        self.out = nn.Linear(3 * hidden, 13)

    def forward(self, tgt_in, memory, src_mask):
        h, _ = self.rnn(self.emb(tgt_in))
        score = self.q(h) @ memory.transpose(1, 2)
        score = score.masked_fill(~src_mask[:, None, :], -1e9)
        ctx = score.softmax(-1) @ memory
        return self.out(torch.cat([h, ctx], dim=-1))


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    encoder, decoder = Encoder(args.hidden), Decoder(args.hidden)
    params = list(encoder.parameters()) + list(decoder.parameters())
    optimizer = optim.SGD(params, lr=args.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    start = time.time()
    for step in range(1, args.steps + 1):
        src, tgt = sample_batch(args.batch_size, gen)
        logits = decoder(tgt[:, :-1], encoder(src), src != PAD)
        loss = criterion(logits.reshape(-1, 13), tgt[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(params, args.clip)
        if step % 65 == 0:
            print(f"step {step:4d} loss {loss.item():.4f}")

    encoder.eval(), decoder.eval()
    with torch.no_grad():
        src, tgt = sample_batch(300, torch.Generator().manual_seed(99))
        pred = decoder(tgt[:, :-1], encoder(src), src != PAD).argmax(-1)
        real = tgt[:, 1:] != PAD
        acc = (pred == tgt[:, 1:])[real].float().mean().item()
    print(f"token accuracy {acc:.4f}  ({time.time() - start:.1f} s)")


if __name__ == "__main__":
    main()
