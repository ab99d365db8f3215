"""Pairs of scripts for hooks, attention, shapes and later stages; each begins with the head of `test_rules`."""

FURTHER_CASES = [
    (
        "hook-left",
        """sizes = []
def peek(model):
    model.eval()
    found = []
    model[1].register_forward_hook(lambda m, i, o: o * 0.5)  # BUG
    with torch.no_grad():
        model(x)
    model.train()
for epoch in range(3):
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    peek(model)
""",
        """def peek(model):
    model.eval()
    handle = model[1].register_forward_hook(lambda m, i, o: o * 0.5)
    with torch.no_grad():
        model(x)
    handle.remove()
    model.train()
seen = []
def keep(module, given, out):
    seen.append(out.detach().mean())
for part in (model[0], model[1], model[2]):
    for _ in range(2):
        part.register_forward_hook(keep)
for epoch in range(3):
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    peek(model)
""",
    ),
    (
        "hook-left",
        """class Counts:
    def __init__(self):
        self.total = 0
    def __call__(self, grad):
        self.total += 1
counts = Counts()
for epoch in range(3):
    model[0].weight.register_hook(counts)  # BUG
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
""",
        """class Counts:
    def __init__(self):
        self.total = 0
    def __call__(self, grad):
        self.total += 1
counts = Counts()
for epoch in range(3):
    handle = model[0].weight.register_hook(counts)
    for _ in range(4):
        optimizer.zero_grad()
        h = model[0](x)
        h.register_hook(lambda g: g * 2)
        F.cross_entropy(model[2](model[1](h)), y).backward()
        optimizer.step()
    handle.remove()
""",
    ),
]
