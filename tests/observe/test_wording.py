"""Ordinals, and the particle that follows a name as it is read aloud."""

import pytest

from grader.course.reading import load_course
from grader.observe.wording import called_with, one_of, ordinal, particle, with_ordinals, with_particle

CLOSED = """
    fit SAM amp_step lr_at wsd_at train train_step sam_step resume warmup_cosine clip_global_norm seed_everything
    Snapshot mend_step all_reduce_mean_ global_token_mean_step sam_step_local
    adamw_step_ guarded_step
"""
OPEN = """
    train_gpt train_qa accumulate accumulate_weighted add_gradient autograd_nodes BestCheckpoint evaluate lambda_max
    lr_range_test overfit_one_batch plan_steps sgd_update sharpness TrainConfig train_accelerate train_step_extras
    weight_decay_groups zero_gradients amp_accumulate sam_accumulate sam_accumulate_weighted token_mean_accumulate
    shard_indices ddp_accumulate gather_metrics rank_zero_checkpoint Zero1AdamW Dashboard newton_schulz muon_groups
    baseline_loss
    ema_update_ first_bad_layer Trainer
"""
READ = {"이": CLOSED.split(), "가": OPEN.split()}


@pytest.mark.parametrize(("form", "name"), [(form, name) for form, names in READ.items() for name in names])
def test_a_name_takes_the_particle_of_its_reading(form: str, name: str) -> None:
    assert particle(name, "이/가") == form
    assert particle(f"`{name}()`", "이/가") == form


@pytest.mark.parametrize("exercise", load_course().exercises)
def test_every_exercise_is_in_the_table(exercise: str) -> None:
    assert exercise in READ["이"] + READ["가"], f"add {exercise} to CLOSED or OPEN, as it is read aloud"


@pytest.mark.parametrize(
    ("text", "forms", "said"),
    [
        ("model", "으로/로", "model로"),
        ("n=0", "으로/로", "n=0으로"),
        ("n=1", "으로/로", "n=1로"),
        ("n=1", "이/가", "n=1이"),
        ("lr", "은/는", "lr은"),
        ("pandas", "을/를", "pandas를"),
        ("nothing", "이라는/라는", "nothing이라는"),
        ("bfloat16", "을/를", "bfloat16을"),
        ("이 줄보다 앞", "이에요/예요", "이 줄보다 앞이에요"),
        ("학습률", "으로/로", "학습률로"),
        ("", "은/는", "는"),
    ],
)
def test_other_texts_do_too(text: str, forms: str, said: str) -> None:
    assert with_particle(text, forms) == said


def test_a_call_is_named_with_its_argument() -> None:
    assert called_with("accum_steps", 0) == "`accum_steps=0`으로 불렀을 때"
    assert called_with("accum_steps", -1) == "`accum_steps=-1`로 불렀을 때"


def test_ordinals_are_words_up_to_ten() -> None:
    assert [ordinal(n) for n in (1, 2, 10, 11)] == ["첫 번째", "두 번째", "열 번째", "11번째"]
    assert with_ordinals("1번째로 건넨 것 (3번째), 12번째 것") == "첫 번째로 건넨 것 (세 번째), 12번째 것"
    assert with_ordinals("1번째 줄과 5~6번째") == "1번째 줄과 5~6번째", "lines keep their numbers"


def test_titles_of_which_one_is_meant_are_quoted() -> None:
    assert one_of(["나눠요"]) == "나눠요"
    assert one_of(["나눠요", "더해요"]) == "「나눠요」 또는 「더해요」"
