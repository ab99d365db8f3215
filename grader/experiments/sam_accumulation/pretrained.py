"""Between letters and tokens: cut passages into pieces for a pretrained reading model, and read its answers back."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.experiments.sam_accumulation.digits import device
from grader.experiments.sam_accumulation.passages import Example


class Piece(NamedTuple):
    """A question with a piece of its passage."""

    example: Example
    inputs: dict[str, Any]
    """What the tokenizer made of it: `input_ids` and so on."""
    places: list[tuple[int, int] | None]
    """Range of letters in the passage, for each token; None for tokens that are not the passage's."""
    start: int
    """First token of the answer; 0, as `end`, if the piece does not hold it all."""
    end: int


def load_pretrained(name: str) -> tuple[Any, Any]:
    """Return tokenizer and model; `name` may be a folder that `save_pretrained` wrote."""
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(name)
    model: Any = AutoModelForQuestionAnswering.from_pretrained(name).to(device)
    # BERT takes numbers that tell question from passage, RoBERTa does not; not every tokenizer knows its model's wish.
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    if getattr(model.config, "type_vocab_size", 1) > 1:
        tokenizer.model_input_names.append("token_type_ids")
    return tokenizer, model


def cut_into_pieces(
    tokenizer: Any, examples: Sequence[Example], longest: int, doc_stride: int
) -> list[Piece]:
    """Cut each passage into pieces of at most `longest` tokens that overlap by `doc_stride`."""
    encoded = tokenizer(
        [one.question for one in examples],
        [one.context for one in examples],
        truncation="only_second",
        max_length=longest,
        stride=doc_stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    pieces = []
    for row, number in enumerate(encoded["overflow_to_sample_mapping"]):
        one, parts = examples[number], encoded.sequence_ids(row)  # 0: question, 1: passage
        offsets = encoded["offset_mapping"][row]
        places = [place if part == 1 else None for place, part in zip(offsets, parts, strict=True)]
        start, end = answer_tokens(one, places)
        inputs = {name: encoded[name][row] for name in tokenizer.model_input_names if name in encoded}
        pieces.append(Piece(one, inputs, places, start, end))
    return pieces


def answer_tokens(example: Example, places: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """Return the first and last token that the answer touches; (0, 0) if these tokens do not hold all of it."""
    first, last = example.start, example.start + len(example.answer)
    touched = [(k, place) for k, place in enumerate(places) if place and place[0] < last and place[1] > first]
    if touched and touched[0][1][0] <= first and touched[-1][1][1] >= last:
        return touched[0][0], touched[-1][0]
    return 0, 0


def collate_pieces(tokenizer: Any, pieces: Sequence[Piece]) -> dict[str, Tensor]:
    """Return a padded batch with the answers' places."""
    padded = tokenizer.pad([piece.inputs for piece in pieces], return_tensors="pt")
    starts, ends = torch.tensor([(piece.start, piece.end) for piece in pieces]).unbind(1)
    batch = {**padded, "start_positions": starts, "end_positions": ends}
    return {name: tensor.to(device) for name, tensor in batch.items()}


def piece_batches(tokenizer: Any, pieces: Sequence[Piece], size: int) -> list[dict[str, Tensor]]:
    """Return the pieces in batches."""
    return [collate_pieces(tokenizer, pieces[k : k + size]) for k in range(0, len(pieces), size)]


def candidates(
    piece: Piece,
    start_scores: Sequence[float],
    end_scores: Sequence[float],
    n_best: int = 20,
    longest: int = 30,
) -> list[tuple[float, str]]:
    """Return (score, answer) for pairs of the `n_best` first and last tokens, at most `longest` tokens apart."""
    inside = {k: place for k, place in enumerate(piece.places) if place}
    starts = sorted(inside, key=lambda k: -start_scores[k])[:n_best]
    ends = sorted(inside, key=lambda k: -end_scores[k])[:n_best]
    return [
        (start_scores[s] + end_scores[e], piece.example.context[inside[s][0] : inside[e][1]])
        for s in starts
        for e in ends
        if s <= e < s + longest
    ]


@torch.no_grad()
def best_answers(
    model: Any, tokenizer: Any, pieces: Sequence[Piece], n_best: int = 20
) -> dict[Example, list[tuple[float, str]]]:
    """Return the best (score, answer) of each question, over all its pieces, the best first."""
    model.eval()
    found: dict[Example, list[tuple[float, str]]] = {piece.example: [] for piece in pieces}
    for piece in pieces:
        output = model(**collate_pieces(tokenizer, [piece]))
        scores = output.start_logits[0].tolist(), output.end_logits[0].tolist()
        found[piece.example] += candidates(piece, *scores, n_best)
    return {one: sorted(every, reverse=True)[:n_best] or [(-math.inf, "")] for one, every in found.items()}
