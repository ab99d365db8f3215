"""Movie review classifier: embedding + GRU, packed sequences."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

VOCAB_SIZE = 120
GOOD, BAD = range(5, 25), range(25, 45)


def make_reviews(n, seed):
    r = random.Random(seed)
    reviews = []
    for _ in range(n):
        label = r.randint(0, 1)
        length = r.randint(6, 18)
        words = [r.randint(45, VOCAB_SIZE - 1) for _ in range(length)]
        for _ in range(3):
            words[r.randrange(length)] = r.choice(GOOD if label else BAD)
        if r.random() < 0.4:                       # a word of the other side
            words[r.randrange(length)] = r.choice(BAD if label else GOOD)
        reviews.append((torch.tensor(words), label))
    return reviews


def collate_batch(items):
    texts, labels = zip(*items)
    lengths = torch.tensor([len(t) for t in texts])
    return pad_sequence(texts, batch_first=True), lengths, torch.tensor(labels)


class GRUClassifier(nn.Module):
    def __init__(self, emb_dim=24, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, emb_dim, padding_idx=0)
        self.emb_drop = nn.Dropout(0.5)
        self.gru = nn.GRU(emb_dim, hidden, batch_first=True)
        self.fc = nn.Sequential(nn.Dropout(0.5), nn.Linear(hidden, 2))

    def forward(self, text, lengths):
        e = self.emb_drop(self.embedding(text))
        packed = pack_padded_sequence(e, lengths, batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        return self.fc(h[-1])


def train(model, iterator, optimizer):
    epoch_loss = 0
    model.train()
    for text, lengths, label in iterator:
        optimizer.zero_grad()
        predictions = model(text, lengths)
        loss = F.cross_entropy(predictions, label)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        epoch_loss += loss.item()
    return epoch_loss / len(iterator)


def evaluate(model, iterator):
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for text, lengths, label in iterator:
            out = model(text, lengths)
            correct += (out.argmax(dim=1) == label).sum().item()
            total += len(label)
    return correct / total


if __name__ == "__main__":
    torch.manual_seed(1234)
    train_iter = DataLoader(make_reviews(480, 1), batch_size=32, shuffle=True, collate_fn=collate_batch)
    valid_iter = DataLoader(make_reviews(210, 2), batch_size=64, collate_fn=collate_batch)
    net = GRUClassifier()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    for epoch in range(8):
        tl = train(net, train_iter, opt)
        acc = evaluate(net, valid_iter)
        print(f"Epoch: {epoch + 1:02} | Train Loss: {tl:.3f} | Val. Acc: {acc * 100:.2f}%")
