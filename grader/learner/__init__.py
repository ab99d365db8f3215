"""A learner's progress: events, what they add up to, and rewards. The one store for notebook and terminal."""
