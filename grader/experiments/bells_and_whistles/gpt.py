"""The GPT of lesson 03, its loss, the text that it writes, and its weights as one vector."""

from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.bells_and_whistles.data import alphabet, device, number_of


class Block(nn.Module):
    """Looks around at the characters so far (attention), then computes at each position alone (mlp)."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        # No bias: the true gradient of the keys' bias is 0, and Adam would follow the sign of what rounding leaves.
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.project = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return the vectors of all positions, of shape (batch, time, width) like `x`."""
        batch, time, width = x.shape
        query, key, value = (
            self.qkv(self.norm_1(x)).view(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.dropout(self.project(mixed.transpose(1, 2).reshape(batch, time, width)))
        x = x + self.dropout(self.mlp(self.norm_2(x)))
        return x


class GPT(nn.Module):
    """Embeddings of characters and positions, blocks, and a score for each character that may come next."""

    def __init__(
        self,
        *,
        width: int = 64,
        depth: int = 2,
        heads: int = 4,
        context: int = 32,
        dropout: float = 0.0,
        std: float | None = 0.02,
    ) -> None:
        """Make the layers; without `std` they keep the weights that PyTorch gives them."""
        super().__init__()
        self.context = context
        self.character = nn.Embedding(len(alphabet), width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(alphabet), bias=False)
        for name, parameter in self.named_parameters():
            if std is None:
                break
            if parameter.ndim == 2:
                nn.init.normal_(parameter, std=std)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of shape (batch, time, characters)."""
        x = self.character(ids) + self.position.weight[: ids.shape[1]]
        logits: Tensor = self.head(self.norm(self.blocks(x)))
        return logits


def make_gpt(seed: int, **sizes: Any) -> GPT:
    """Return a GPT on `device` with weights from this seed; `sizes` are the arguments of `GPT`."""
    torch.manual_seed(seed)
    return GPT(**sizes).to(device)


def token_loss(model: nn.Module, part: Tensor) -> Tensor:
    """Return the mean cross-entropy over all positions of all windows in `part`."""
    return F.cross_entropy(model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten())


@torch.no_grad()
def write(model: GPT, start: str, count: int = 70, seed: int = 1) -> str:
    """Draw `count` characters one by one after `start`; the model is in train mode afterwards."""
    model.eval()
    generator = torch.Generator().manual_seed(seed)
    ids = [number_of[character] for character in start]
    for _ in range(count):
        logits = model(torch.tensor([ids[-model.context :]], device=device))[0, -1]
        drawn = torch.multinomial((logits.cpu() / 0.5).softmax(-1), 1, generator=generator)
        ids.append(int(drawn.item()))
    model.train()
    return "".join(alphabet[number] for number in ids)


def flat(tensors: Iterable[Tensor]) -> Tensor:
    """Return copies of the tensors joined into one vector."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors])
