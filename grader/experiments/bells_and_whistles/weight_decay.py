"""Weight decay over all parameters, or only over those that are neither bias nor of a LayerNorm."""

import torch
from torch import nn

from grader.experiments.bells_and_whistles.data import alphabet, batch_stream, short_train, train_tokens
from grader.experiments.bells_and_whistles.gpt import flat, make_gpt
from grader.experiments.bells_and_whistles.stored import Run
from grader.experiments.bells_and_whistles.training import climb_then, train_with, validation_loss

unseen = sorted(set(range(len(alphabet))) - set(train_tokens.tolist()))
"""Characters that are only in the validation text."""
PLAN = climb_then("코사인", peak=0.005, warmup=40, total=180)
"""The rates of these trainings."""


def decay_run(weight_decay: float, split: bool, seed: int) -> Run:
    """Train for 180 steps with weight decay; with `split`, none for what is called norm or bias.

    Returns:
        Losses, the mean scale of the LayerNorms, and how much is left of the embeddings of unseen characters.
    """
    model = make_gpt(seed)
    small = [p for name, p in model.named_parameters() if split and ("norm" in name or "bias" in name)]
    large = [p for p in model.parameters() if not any(p is other for other in small)]
    opt = torch.optim.AdamW([{"params": large, "weight_decay": weight_decay}])
    if small:
        opt.add_param_group({"params": small, "weight_decay": 0.0})
    before = model.character.weight[unseen].norm().item()
    losses, _ = train_with(PLAN, model, opt, batch_stream(short_train, seed))
    gains = [module.weight for module in model.modules() if isinstance(module, nn.LayerNorm)]
    return {
        "train": sum(losses[-10:]) / 10,
        "val": validation_loss(model),
        "gain": flat(gains).mean().item(),
        "kept": model.character.weight[unseen].norm().item() / before,
    }
