"""Drivers of lesson 02: config, seed, schedule, mixed precision, checkpoints and whole training runs."""
