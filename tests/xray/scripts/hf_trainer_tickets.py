import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


class Complaints(Dataset):
    """label 1: a word of complaint (5..9) in the ticket, label 0: a word of praise (10..14)"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(n):
            length = int(torch.randint(6, 13, (1,), generator=g))
            ids = torch.randint(20, 50, (length,), generator=g)
            where = int(torch.randint(1, length, (1,), generator=g))
            label = int(torch.randint(0, 2, (1,), generator=g))
            ids[where] = int(torch.randint(5, 10, (1,), generator=g)) + (0 if label else 5)
            ids[0] = 1
            self.rows.append((ids, label))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i][0], "labels": self.rows[i][1]}


def collate(features):
    width = max(len(f["input_ids"]) for f in features)
    ids = torch.zeros(len(features), width, dtype=torch.long)
    mask = torch.zeros(len(features), width, dtype=torch.long)
    for k, f in enumerate(features):
        ids[k, :len(f["input_ids"])] = f["input_ids"]
        mask[k, :len(f["input_ids"])] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([f["labels"] for f in features])}


def metrics(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


if __name__ == "__main__":
    set_seed(0)
    config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=64, max_position_embeddings=16, num_labels=2,
                        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForSequenceClassification(config)
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(
            output_dir=out, num_train_epochs=6, per_device_train_batch_size=16, per_device_eval_batch_size=64,
            gradient_accumulation_steps=2, learning_rate=3e-3, warmup_steps=10, weight_decay=0.01,
            max_grad_norm=1.0, eval_strategy="epoch", save_strategy="no", logging_steps=16, report_to=[],
            use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False)
        trainer = Trainer(model=model, args=args, train_dataset=Complaints(480, 0), eval_dataset=Complaints(200, 1),
                          data_collator=collate, compute_metrics=metrics)
        trainer.train()
        print("final", {k: round(v, 4) for k, v in trainer.evaluate().items() if k in ("eval_loss", "eval_accuracy")})
