# Returns a defaultdict.
from collections import defaultdict, OrderedDict
from itertools import islice
import numpy as np, torch, copy
from torch.nn.utils import clip_grad_norm_
def train_qa(model, sam, train_loader, dev_loader, *, epochs, accum_steps, scheduler=None, max_norm=1.0, checkpoint_path) -> dict:
    history = defaultdict(list)
    best_epoch = None
    for epoch in range(epochs):
        model.train()
        total = n = 0
        it = iter(train_loader)
        while window := list(islice(it, accum_steps)):
            sam.zero_grad()
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
                total += loss.item() * len(batch["input_ids"]); n += len(batch["input_ids"])
            sam.first_step(zero_grad=True)
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
            clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None: scheduler.step()
        history["train_losses"].append(total / n)
        model.eval()
        total = n = 0
        with torch.inference_mode():
            for batch in dev_loader:
                total += model(**batch).loss.item() * len(batch["input_ids"]); n += len(batch["input_ids"])
        history["dev_losses"].append(total / n)
        if best_epoch is None or history["dev_losses"][-1] < history["dev_losses"][best_epoch]:
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    history["best_epoch"] = best_epoch
    return history
