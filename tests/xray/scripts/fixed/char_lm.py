# 문자 단위 언어 모델 (GRU)
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)
text = []
state = 0
trans = torch.softmax(2.5 * torch.randn(20, 20), dim=1)
for _ in range(6000):
    state = torch.multinomial(trans[state], 1).item()
    text.append(state)
data = torch.tensor(text)
train_data, val_data = data[:5000], data[5000:]

VOCAB, BLOCK, BATCH = 20, 24, 16


class CharGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 24)
        self.gru = nn.GRU(24, 48, batch_first=True)
        self.fc = nn.Linear(48, VOCAB)

    def forward(self, idx):
        out, _ = self.gru(self.emb(idx))
        return self.fc(out)


def get_batch(source):
    start = torch.randint(0, len(source) - BLOCK - 1, (BATCH,))
    x = torch.stack([source[s:s + BLOCK] for s in start])
    y = torch.stack([source[s + 1:s + BLOCK + 1] for s in start])
    return x, y


def lm_loss(model, x, y):
    logits = model(x)
    return F.cross_entropy(logits.reshape(-1, VOCAB), y.reshape(-1))


model = CharGRU()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
PER_EPOCH = 40

for epoch in range(5):
    model.train()
    total_loss = 0.0
    for _ in range(PER_EPOCH):
        x, y = get_batch(train_data)
        loss = lm_loss(model, x, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total_loss += loss.item()

    model.eval()
    with torch.no_grad():
        val = sum(lm_loss(model, *get_batch(val_data)).item() for _ in range(10)) / 10
    print(f"epoch {epoch}: train {total_loss / PER_EPOCH:.4f} val {val:.4f}")

model.eval()
with torch.no_grad():
    guess = model(val_data[None, :-1])[0].argmax(-1)
print(f"next-character accuracy {(guess == val_data[1:]).float().mean():.4f}")
