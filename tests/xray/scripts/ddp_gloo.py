"""Hand-rolled data parallel over gloo, two processes on one machine."""
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

WORLD, EPOCHS, BATCH, LR = 2, 6, 25, 1.1


def make_dataset():
    g = torch.Generator().manual_seed(3)
    x = torch.randn(1000, 16, generator=g)
    y = (x[:, :4].sum(1) * x[:, 4].sign() > 0).long()
    return TensorDataset(x[:800], y[:800]), TensorDataset(x[800:], y[800:])


def sync_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)


def evaluate(model, dataset):
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in DataLoader(dataset, batch_size=100):
            hits += (model(x).argmax(1) == y).sum().item()
    return hits / len(dataset)


def train(rank, world, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    torch.manual_seed(0)
    train_set, test_set = make_dataset()
    sampler = DistributedSampler(train_set, world, rank, shuffle=True)
    loader = DataLoader(train_set, batch_size=BATCH, sampler=sampler)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    for p in model.parameters():
        dist.broadcast(p.data, src=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            sync_gradients(model)
            optimizer.step()
            total += loss.item()
        if rank == 0:
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()
            print(f"epoch {epoch} loss {total / len(loader):.4f} |g| {norm:.3f} acc {evaluate(model, test_set):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    init_file = os.path.join(tempfile.mkdtemp(), "rendezvous")
    ctx = mp.get_context("fork")
    peers = [ctx.Process(target=train, args=(r, WORLD, init_file)) for r in range(1, WORLD)]
    for p in peers:
        p.start()
    train(0, WORLD, init_file)
    for p in peers:
        p.join()
