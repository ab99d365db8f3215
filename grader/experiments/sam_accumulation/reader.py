"""A small reading model: it says of each letter of a passage whether the answer begins or ends there."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.sam_accumulation.passages import CLS, SEP, vocabulary


def question_hits(input_ids: Tensor, in_context: Tensor, in_question: Tensor) -> Tensor:
    """Return 1 for each letter of the passage that is part of one, two or three letters which the question has too.

    All arguments are (batch, letters); the result is (batch, letters, 3).
    """
    same = (input_ids[:, :, None] == input_ids[:, None, :]) & in_context[:, :, None] & in_question[:, None, :]
    run, hits = same, []
    for length in range(1, 4):
        begins = run.any(dim=2)
        covered = torch.zeros_like(in_context)
        for shift in range(length):
            covered[:, shift : shift + begins.size(1)] |= begins
        hits.append(covered)
        run = run[:, :-1, :-1] & same[:, length:, length:]
    return torch.stack(hits, dim=2).float()


class QAOutput(NamedTuple):
    """The loss (None without answers), and scores of the answer's first and last letter, (batch, letters) each."""

    loss: Tensor | None
    start_logits: Tensor
    end_logits: Tensor


class Reader(nn.Module):
    """Embeddings of letters, two convolutions, a transformer encoder, and scores of beginning and end.

    It is called like a question-answering model of Hugging Face.
    """

    def __init__(self, width: int = 64, layers: int = 1, heads: int = 4, dropout: float = 0.1) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(vocabulary) + 4, width)
        self.segments = nn.Embedding(2, width)
        self.hits = nn.Linear(3, width, bias=False)
        self.convolutions = nn.ModuleList(nn.Conv1d(width, width, 5, padding=2) for _ in range(2))
        self.encoder = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, 2)
        nn.init.normal_(self.letters.weight, std=0.3)
        nn.init.normal_(self.segments.weight, std=0.1)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
    ) -> QAOutput:
        """Return the scores, and the loss where the answers' places (batch) are given."""
        after = (input_ids == SEP).cumsum(dim=1) > 0
        in_context = after & (input_ids != SEP) & attention_mask.bool()
        in_question = ~after & (input_ids != CLS)

        hidden = self.letters(input_ids) + self.segments(in_context.long())
        hidden = self.dropout(hidden + self.hits(question_hits(input_ids, in_context, in_question)))
        for convolution in self.convolutions:
            near = convolution((hidden * attention_mask[:, :, None]).transpose(1, 2)).transpose(1, 2)
            hidden = hidden + F.relu(near)
        for layer in self.encoder:
            hidden = layer(hidden, src_key_padding_mask=attention_mask == 0)

        logits = self.head(self.norm(hidden))
        logits = logits.masked_fill(~in_context[:, :, None], -1e9)  # answers stand in the passage
        start_logits, end_logits = logits.unbind(dim=-1)
        loss = None
        if start_positions is not None and end_positions is not None:
            start_loss = F.cross_entropy(start_logits, start_positions)
            loss = (start_loss + F.cross_entropy(end_logits, end_positions)) / 2
        return QAOutput(loss, start_logits, end_logits)
