import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed


class IntentDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 5, (n,), generator=g)
        base = torch.randint(50, 200, (n, 12), generator=g)
        keys = self.y[:, None] * 10 + torch.randint(0, 10, (n, 2), generator=g)
        base[:, 2], base[:, 7] = keys[:, 0], keys[:, 1]
        self.x = base

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.y[i]}


class IntentModel(nn.Module):
    def __init__(self, num_labels=5, dim=32):
        super().__init__()
        self.embeddings = nn.Embedding(200, dim)
        self.conv = nn.Conv1d(dim, 48, 3, padding=1)
        self.classifier = nn.Linear(48, num_labels)
        self.loss_fct = nn.CrossEntropyLoss()

    def forward(self, input_ids=None, labels=None):
        h = self.embeddings(input_ids).transpose(1, 2)
        h = torch.relu(self.conv(h)).amax(dim=2)
        probs = torch.softmax(self.classifier(h), dim=-1)
        loss = None
        if labels is not None:
            loss = self.loss_fct(probs, labels)
        return {"loss": loss, "logits": probs}


def compute_metrics(pred):
    return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids).mean())}


def main():
    set_seed(3)
    model = IntentModel()
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(
            output_dir=out, per_device_train_batch_size=32, per_device_eval_batch_size=100,
            num_train_epochs=4, learning_rate=3e-3, lr_scheduler_type="linear", logging_steps=20,
            save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False)
        trainer = Trainer(model=model, args=args, train_dataset=IntentDataset(640, 0),
                          eval_dataset=IntentDataset(300, 1), compute_metrics=compute_metrics)
        result = trainer.train()
        print("train loss", round(result.training_loss, 4))
        metrics = trainer.evaluate()
    print("eval loss", round(metrics["eval_loss"], 4), "accuracy", round(metrics["eval_accuracy"], 4))


if __name__ == "__main__":
    main()
