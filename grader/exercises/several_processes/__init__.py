"""Drivers of lesson 05: training in several processes, called *ranks*, that exchange values by *collectives*.

The learner's function is played on several ranks in one process, without a network:

    _ranks.py     runs a function on each rank in a thread, one at a time, and finds waits without end
    _sent.py      copies what ranks give to each other, as on the way to another process
    _group.py     the collectives, as the module `torch.distributed` has them: the argument `dist` of the exercises
    _objects.py   the part of it that exchanges any objects
    _messages.py  the part of it that sends from one rank to another
    _member.py    what these parts share: beginning a collective or message, waiting, refusing wrong arguments
    _replica.py   a model that averages gradients over the ranks, as `DistributedDataParallel` does
    _cases.py     a `Case` whose call runs on every rank

A driver whose function updates a model builds a `rank_case`. The others use `several_ranks` and `call_on_ranks`, except
`shard_indices`, whose function exchanges nothing and is called once for each rank.
"""
