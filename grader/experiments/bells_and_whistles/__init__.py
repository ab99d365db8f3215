"""Experiments of lesson 03: schedules, clipping and Adam's steps, on a GPT that learns the constitution.

`data` (text, windows, batches), `gpt` (model), `training` (one run), `stored` (six seeds, most measured before).
By topic: `adam`, `outliers`, `weight_decay`, `schedules`, `curvature`, `recording`, `clauses`, `whiteboard`.
"""
