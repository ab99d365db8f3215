"""Questions about the articles of the Korean constitution, as numbers of letters in batches for a reading model."""

import json
import math
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from grader.experiments.sam_accumulation.digits import device
from grader.paths import asset_path

PAD, UNKNOWN, CLS, SEP = range(4)
"""Numbers that stand for no letter."""


class Example(NamedTuple):
    """A question about a passage."""

    question: str
    context: str
    answer: str
    start: int
    """Index in the passage of the answer's first letter."""
    kind: str
    """`natural` (written by hand) or `template`."""


def load_examples(split: str) -> list[Example]:
    """Read the questions of `train`, `dev` or `test`."""
    articles = json.loads(asset_path("data", "constitution_qa", f"{split}.json").read_text(encoding="utf-8"))
    return [
        Example(qa["question"], paragraph["context"], answer["text"], answer["answer_start"], qa["kind"])
        for article in articles["data"]
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
        for answer in qa["answers"][:1]
    ]


train_set, dev_set, test_set = (load_examples(split) for split in ("train", "dev", "test"))
vocabulary = {
    letter: number
    for number, letter in enumerate(
        sorted({letter for one in train_set for letter in one.question + one.context}), start=4
    )
}
"""Number of each letter of the training data."""


def fact(example: Example) -> tuple[str, int, str]:
    """Return passage, place and answer: questions that share these ask for the same fact."""
    return example.context, example.start, example.answer


def encode(example: Example) -> tuple[list[int], int, int]:
    """Return the numbers of `[CLS] question [SEP] passage`, and where in it the answer begins and ends."""
    question = [vocabulary.get(letter, UNKNOWN) for letter in example.question]
    context = [vocabulary.get(letter, UNKNOWN) for letter in example.context]
    start = len(question) + 2 + example.start
    return [CLS, *question, SEP, *context], start, start + len(example.answer) - 1


def collate(examples: Sequence[Example]) -> dict[str, Tensor]:
    """Return a batch of padded inputs (examples x letters) and the answers' places."""
    encoded = [encode(example) for example in examples]
    longest = max(len(ids) for ids, _, _ in encoded)
    input_ids = torch.tensor([ids + [PAD] * (longest - len(ids)) for ids, _, _ in encoded])
    batch = {
        "input_ids": input_ids,
        "attention_mask": (input_ids != PAD).long(),
        "start_positions": torch.tensor([start for _, start, _ in encoded]),
        "end_positions": torch.tensor([end for _, _, end in encoded]),
    }
    return {name: tensor.to(device) for name, tensor in batch.items()}


class LengthLoader:
    """Batches of questions of similar length; with `shuffle`, others each time."""

    def __init__(
        self, examples: Sequence[Example], batch_size: int, *, shuffle: bool = False, seed: int = 0
    ) -> None:
        self.examples, self.batch_size, self.shuffle = list(examples), batch_size, shuffle
        self.random = random.Random(seed)

    def __len__(self) -> int:
        return math.ceil(len(self.examples) / self.batch_size)

    def groups(self) -> list[list[Example]]:
        """Return the examples of each batch."""
        examples = list(self.examples)
        pool = len(examples)
        if self.shuffle:
            self.random.shuffle(examples)
            pool = 32 * self.batch_size  # sorting more at once would undo the shuffling
        found = []
        for begin in range(0, len(examples), pool):
            near = sorted(
                examples[begin : begin + pool], key=lambda one: len(one.question) + len(one.context)
            )
            found += [near[k : k + self.batch_size] for k in range(0, len(near), self.batch_size)]
        if self.shuffle:
            self.random.shuffle(found)
        return found

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        return (collate(group) for group in self.groups())
