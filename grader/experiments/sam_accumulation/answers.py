"""Find the answers that a reading model gives, and score them as KorQuAD does: exact match (EM) and F1 of letters."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from statistics import mean

import torch
from torch import nn

from grader.experiments.sam_accumulation.passages import Example, LengthLoader, collate, fact

Found = list[tuple[Example, str]]
"""Questions, each with the answer that a model gives."""


def normalized(text: str) -> str:
    """Return the text without quotation marks, brackets and punctuation, with single spaces."""
    text = re.sub(r"[\'\"《》<>〈〉()‘’]", " ", text.lower())
    text = "".join(letter for letter in text if letter not in string.punctuation)
    return " ".join(text.split())


def exact_match(predicted: str, answer: str) -> float:
    """Return 1 if the texts are equal after normalisation, else 0."""
    return float(normalized(predicted) == normalized(answer))


def letter_f1(predicted: str, answer: str) -> float:
    """Return the harmonic mean of precision and recall of the letters, spaces not counted."""
    ours, theirs = (Counter(normalized(text).replace(" ", "")) for text in (predicted, answer))
    shared = (ours & theirs).total()
    if shared == 0:
        return 0.0
    precision, recall = shared / ours.total(), shared / theirs.total()
    return 2 * precision * recall / (precision + recall)


@torch.no_grad()
def find_answers(model: nn.Module, examples: Sequence[Example], longest: int = 30) -> tuple[Found, float]:
    """Return the answers with the highest sum of both scores, at most `longest` letters, and the mean loss."""
    was_training = model.training
    model.eval()
    found: Found = []
    total = 0.0
    for group in LengthLoader(examples, 32).groups():
        output = model(**collate(group))
        total += output.loss.item() * len(group)
        start_scores, end_scores = output.start_logits.log_softmax(1), output.end_logits.log_softmax(1)
        scores = start_scores[:, :, None] + end_scores[:, None, :]
        allowed = torch.ones_like(scores[0], dtype=torch.bool).triu().tril(longest - 1)  # start <= end
        best = scores.masked_fill(~allowed, -torch.inf).flatten(1).argmax(1)
        for example, place in zip(group, best.tolist(), strict=True):
            start, end = divmod(place, scores.size(1))
            offset = len(example.question) + 2
            found.append((example, example.context[start - offset : end - offset + 1]))
    model.train(was_training)
    return found, total / len(examples)


def score_pairs(found: Found) -> tuple[float, float]:
    """Return EM and F1 in percent."""
    em = mean(exact_match(ours, one.answer) for one, ours in found)
    return 100 * em, 100 * mean(letter_f1(ours, one.answer) for one, ours in found)


def score_facts(found: Found) -> tuple[float, float]:
    """Return EM and F1 in percent, each fact counted once, however many questions ask for it."""
    facts: dict[tuple[str, int, str], Found] = {}
    for one, ours in found:
        facts.setdefault(fact(one), []).append((one, ours))
    em, f1 = zip(*map(score_pairs, facts.values()), strict=True)
    return mean(em), mean(f1)


def score(model: nn.Module, examples: Sequence[Example]) -> tuple[float, float, float]:
    """Return loss, EM and F1."""
    found, loss = find_answers(model, examples)
    return loss, *score_pairs(found)
