"""Fine-tune a (tiny, fresh) GPT-2 from transformers with a plain loop."""
import argparse

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup


class CountingDataset(Dataset):
    """sequences such as 5 7 9 11 ... modulo 40 (start and stride vary)"""

    def __init__(self, n, seq_len=20, seed=0):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(0, 40, (n, 1), generator=g)
        stride = torch.randint(1, 4, (n, 1), generator=g)
        self.ids = (start + stride * torch.arange(seq_len)) % 40

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        ids = self.ids[i]
        return {"input_ids": ids, "labels": ids}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=4e-3)
    args = parser.parse_args()

    torch.manual_seed(42)
    train_loader = DataLoader(CountingDataset(512), batch_size=16, shuffle=True)
    config = GPT2Config(vocab_size=40, n_positions=32, n_embd=32, n_layer=2, n_head=2,
                        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=0.01)
    accum = args.gradient_accumulation_steps
    num_updates = args.epochs * len(train_loader) // accum
    lr_scheduler = get_linear_schedule_with_warmup(optimizer, 6, num_updates)

    model.train()
    for epoch in range(args.epochs):
        running = 0.0
        for step, batch in enumerate(train_loader):
            outputs = model(**batch)
            loss = outputs.loss / accum
            loss.backward()
            running += outputs.loss.item()
            if (step + 1) % accum == 0:
                optimizer.step()
                optimizer.zero_grad()
                lr_scheduler.step()
        print(f"epoch {epoch} loss {running / len(train_loader):.4f} lr {lr_scheduler.get_last_lr()[0]:.5f}")

    # does it count on?
    model.eval()
    with torch.no_grad():
        ids = CountingDataset(200, seed=9).ids
        pred = model(input_ids=ids[:, :-1]).logits[:, 4:].argmax(-1)
        print(f"next number right: {(pred == ids[:, 5:]).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
