"""What the course files promise of each mistake: fixed ids, whole sentences, hints that hold the answer back."""

import ast
import re

import pytest

from grader.course.conditions import full_text
from grader.course.course import Exercise
from grader.judging.reference import cached_reference
from grader.judging.solution import exercise_source
from grader.judging.text_location import is_line_of
from tests.judging.examined import COURSE, EXERCISES

# The ids that results, feedback and other people's tests rely on, by exercise.
FIXED = {
    "train_step": """missing-zero-grad zero-grad-before-step step-before-backward missing-backward missing-step
        backward-twice step-twice returns-tensor returns-loss-after-update forces-eval-mode forces-train-mode
        softmax-before-loss detached-loss""",
    "train_step_extras": """missing-zero-grad zero-grad-before-step step-before-backward missing-backward
        missing-step clip-before-backward no-clip clip-after-step clip-by-value clip-per-parameter
        scheduler-before-step scheduler-twice missing-scheduler-step""",
    "accumulate": """zero-grad-before-step missing-backward missing-step clip-by-value clip-per-parameter
        no-division divides-twice divides-by-batch-size step-every-micro-batch zero-grad-every-micro-batch
        backward-last-only steps-on-first window-off-by-one drops-leftover leaks-leftover
        leftover-divided-by-full missing-zero-grad-after-step clip-every-micro-batch divides-after-clip
        returns-micro-count""",
    "fit": """missing-zero-grad zero-grad-once missing-backward missing-step mean-of-batch-means
        last-batch-only-loss missing-train-mode""",
    "evaluate": """returns-tensor mean-of-batch-means missing-eval-mode missing-no-grad leaves-eval-mode
        mode-lost-on-error accuracy-in-percent argmax-over-batch""",
    "zero_gradients": "replaces-tensor touches-none zeroes-the-weights",
    "sgd_update": "moves-without-no-grad climbs replaces-tensor touches-none",
    "autograd_nodes": "only-first-node walks-first-parent-only keeps-duplicates",
    "TrainConfig": "not-frozen unknown-key-ignored no-validation config-not-plain",
    "seed_everything": "seeds-torch-only unseeded-generator",
    "warmup_cosine": """warmup-starts-at-zero cosine-over-total cosine-never-ends one-lr-for-all-groups
        scheduler-divides-by-zero""",
    "amp_step": """clip-before-unscale missing-unscale missing-update step-without-scaler
        backward-under-autocast deprecated-amp scaler-with-none""",
    "amp_accumulate": """no-division unscale-every-micro-batch update-every-micro-batch
        step-every-micro-batch""",
    "BestCheckpoint": """saves-reference saves-last greater-or-equal zero-never-saved nan-saved not-atomic
        config-not-plain missing-optimizer-state missing-scheduler-state""",
    "resume": "resume-model-only resume-without-scheduler resume-off-by-one",
    "train": """missing-eval-mode leaves-eval-mode scheduler-per-epoch scheduler-before-step clip-after-step
        validates-on-train saves-last missing-zero-grad""",
    "train_accelerate": """missing-eval-mode leaves-eval-mode scheduler-per-epoch scheduler-before-step
        clip-after-step validates-on-train saves-last missing-zero-grad plain-backward unprepared-loader
        saves-wrapped-model""",
    "plan_steps": "counts-micro-batches drops-short-window floor-warmup no-ratio-check",
    "lr_at": """warmup-off-by-one starts-at-zero never-reaches-min cosine-over-total half-cosine-missing
        rises-after-end divides-by-zero""",
    "clip_global_norm": """per-parameter-norm by-value max-abs-norm scales-up norm-after-clip
        squares-not-rooted nan-spreads touches-none""",
    "train_gpt": """clip-after-warmup-late lr-after-step one-lr-for-all-groups peak-from-decayed-lr
        eval-in-train-mode leaves-eval-mode eval-builds-graph tokens-count-batches missing-zero-grad
        missing-first-eval loss-last-position-only targets-not-shifted""",
    "token_mean_accumulate": """mean-of-means divides-by-all-tokens ignores-ignore-index
        step-every-micro-batch empty-window-steps""",
    "SAM": """missing-restore perturbs-downhill adds-instead-of-subtracts unnormalized-perturbation
        per-parameter-norm rho-squared perturbs-by-lr nan-on-zero-gradient none-gradient-left-perturbed
        base-state-not-saved adaptive-ignored restores-after-step""",
    "sam_step": """one-pass keeps-first-gradient base-step-first second-pass-without-forward
        returns-perturbed-loss""",
    "sam_accumulate": """last-batch-only first-batch-only no-division second-pass-not-divided
        per-micro-batch-sam keeps-first-gradient clips-first-pass-only clips-nothing clips-each-micro-batch
        drops-leftover steps-on-nonzero consumes-generator""",
    "sharpness": "missing-restore leaves-gradients unnormalized-perturbation absolute-value advances-rng",
    "train_qa": """cumulative-dev-mean missing-eval-mode leaves-eval-mode scheduler-per-micro-batch
        highest-saved saves-last sums-train-loss""",
}


@pytest.mark.parametrize("name", [name for name in FIXED if name in COURSE.exercises])
def test_no_fixed_id_is_missing(name: str) -> None:
    ids = [mistake.id for mistake in COURSE.exercise(name).mistakes]
    fixed = FIXED[name].split()
    assert [i for i in ids if i in fixed] == fixed, "missing, or not in their order"
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_mistake_is_described(exercise: Exercise) -> None:
    hangul = re.compile("[가-힣]")
    kinds = {"zero_grad", "forward", "backward", "clip", "first_step", "step", "scheduler", "return", "def"}
    for mistake in exercise.mistakes:
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", mistake.id)
        assert re.sub(r"^def \w+$", "def", mistake.at) in kinds, mistake.id
        assert not mistake.near or is_line_of(exercise_source(exercise), mistake.near), mistake.id
        for text in (mistake.title, mistake.explain, mistake.hint):
            assert hangul.search(text), mistake.id
            assert "**" not in text, mistake.id
            assert text.count("`") % 2 == 0, mistake.id
        assert "\n" not in mistake.title
        assert full_text(mistake.explain).endswith("요."), mistake.id
        assert mistake.hint.endswith(("요.", "요?")), mistake.id


@pytest.mark.parametrize("exercise", EXERCISES)
def test_neither_hints_nor_feedback_give_a_line_of_the_answer_away(exercise: Exercise) -> None:
    body = exercise_source(exercise).split("# BEGIN SOLUTION", 1)[-1]  # all of it where one line is left out
    lines = {line.strip() for line in body.splitlines()}
    harmless = ("#", "return", "for ", "if ", "def ", '"""')
    telling = {line for line in lines if len(line) > 12 and not line.startswith(harmless)}
    assert telling
    *early, last = exercise.hints or ("", "", "\n".join(telling))  # a bonus task has none
    assert len(early) >= 2, "at least three hints, the last of which is the answer"
    assert all(line.removesuffix("  # SOLUTION") in last for line in telling)
    for hint in early:
        assert not [line for line in telling if line in hint], hint
    for mistake in exercise.mistakes:  # they may name a call that stands at the wrong place
        assert not [line for line in telling if line in mistake.hint and len(line) > 16], mistake.hint


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_edit_makes_a_program(exercise: Exercise) -> None:
    sources = list(cached_reference(exercise.name, 1).sources.values())
    for source in sources:
        ast.parse(source)
    assert len(sources) == len(set(sources)), "two ways to make a mistake are one text"
