import torch
import torch.nn as nn
import torch.nn.functional as F

V, T = 32, 20


def set_seed(seed):
    torch.manual_seed(seed)


class TinyGPT(nn.Module):
    """Takes input_ids and labels like the library models: labels are shifted inside."""

    def __init__(self, d=48):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(T, d)
        layer = nn.TransformerEncoderLayer(d, 4, 96, dropout=0.1, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1)
        self.lm_head = nn.Linear(d, V, bias=False)

    def forward(self, input_ids, labels=None):
        t = input_ids.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(t)
        h = self.blocks(self.tok(input_ids) + self.pos(torch.arange(t)), mask=mask, is_causal=True)
        logits = self.lm_head(h)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].reshape(-1, V), labels[:, 1:].reshape(-1))
        return loss, logits


def sequences(n):
    start = torch.randint(V, (n, 1))
    step = torch.randint(1, 4, (n, 1))
    return (start + step * torch.arange(T + 1)) % V


def main():
    set_seed(0)
    data = sequences(400)
    model = TinyGPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95))
    for epoch in range(5):
        set_seed(0)
        model.train()
        losses = []
        for rows in torch.randperm(len(data)).split(25):
            chunk = data[rows]
            loss, _ = model(chunk[:, :-1], labels=chunk[:, 1:])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    main()
