"""Record a learner's progress as events, and compute history, rewards and the next exercise from them.

Notebook and terminal share this one store.
"""
