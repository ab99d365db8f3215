"""1주차 과제 / 황민서"""
import torch


class AverageMeter(object):
    """Computes and stores the average and current value"""
    # (ImageNet 예제에서 가져옴)
    def __init__(self, name=''):
        self.name = name
        self.reset()

    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def train_step(model, optimizer, criterion, images, target):
    # switch to train mode
    model.train()
    output = model(images)
    loss = criterion(output, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train_step_extras(model, optimizer, criterion, images, target, *, max_norm=None, scheduler=None):
    output = model(images)
    loss = criterion(output, target)
    optimizer.zero_grad()
    loss.backward()
    # gradient clipping은 나중에 추가
    optimizer.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()


def accumulate(model, optimizer, criterion, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError('accum_steps')
    batches = list(micro_batches)
    n_steps = 0
    for start in range(0, len(batches), accum_steps):
        window = batches[start:start + accum_steps]
        for images, target in window:
            loss = criterion(model(images), target) / len(window)
            loss.backward()
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            optimizer.zero_grad()
            n_steps += 1
    return n_steps


def fit(model, optimizer, criterion, loader, epochs, *, zero_grad=True):
    out = []
    for epoch in range(epochs):
        losses = AverageMeter('Loss')
        model.train()
        for i, (images, target) in enumerate(loader):
            output = model(images)
            loss = criterion(output, target)
            losses.update(loss.item(), images.size(0))
            # compute gradient and do SGD step
            loss.backward()
            optimizer.step()
        out.append(losses.avg)
    return out


def accuracy(output, target):
    with torch.no_grad():
        pred = output.topk(1, 1, True, True)[1].t()
        return pred.eq(target.view(1, -1)).reshape(-1).float().sum().item()


def evaluate(model, criterion, loader):
    losses, top1 = AverageMeter('Loss'), AverageMeter('Acc')
    state = [(m, m.training) for m in model.modules()]
    # switch to evaluate mode
    model.eval()
    with torch.no_grad():
        for images, target in loader:
            output = model(images)
            losses.update(criterion(output, target).item(), images.size(0))
            top1.update(accuracy(output, target) / images.size(0), images.size(0))
    for m, t in state:
        m.training = t
    return losses.avg, top1.avg


def zero_gradients(params):
    for p in params:
        p.grad.detach_()
        p.grad.zero_()


def sgd_update(params, lr):
    for p in params:
        if p.grad is None:
            continue
        p.data.add_(p.grad.data, alpha=-lr)


def autograd_nodes(loss):
    result = set()

    def go(fn):
        if fn is None:
            return
        result.add(type(fn).__name__)
        if fn.next_functions:
            go(fn.next_functions[0][0])

    go(loss.grad_fn)
    return sorted(result)
