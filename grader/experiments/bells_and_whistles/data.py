"""The constitution as numbers of its characters, cut into windows and batches; everything is on `device`."""

from collections.abc import Iterator

import torch
from torch import Tensor

from grader.paths import asset_path

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on_cpu = device.type == "cpu"

# The law has no copyright; where the text comes from is written in the README beside it.
text = asset_path("data", "constitution", "constitution.txt").read_text(encoding="utf-8")
alphabet = sorted(set(text))
number_of = {character: number for number, character in enumerate(alphabet)}
tokens = torch.tensor([number_of[character] for character in text])

border = text.index("\n제7장 선거관리")
"""Place of the first character that is for validation."""
train_tokens, val_tokens = tokens[:border], tokens[border:]


def windows(tokens: Tensor, length: int) -> Tensor:
    """Cut into pieces of length + 1 characters, each overlapping half of the next: `length` inputs and targets."""
    return tokens.unfold(0, length + 1, length // 2).to(device)


short_train, short_val = windows(train_tokens, 32), windows(val_tokens, 32)


def batch_stream(parts: Tensor, seed: int, size: int = 16) -> Iterator[Tensor]:
    """Give batches without end, shuffled anew in each epoch."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        for rows in torch.randperm(len(parts), generator=generator).split(size):
            yield parts[rows.to(device)]


def spelled_out(numbers: Tensor) -> str:
    """Return the characters that the numbers stand for."""
    return "".join(alphabet[number] for number in numbers.tolist())
