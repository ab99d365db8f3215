"""Experiments of lesson 04: SAM under gradient accumulation, sharpness, and a Korean reading model.

Digits: `digits` (data, models), `vectors` (weights as one vector), `loops` (SAM and loops to compare), `two_passes`
(what two passes do to other parts), `cost`, `fits` (trainings with SGD and SAM), `landscape` (sharpness, curvature).
Reading: `passages` (data), `reader` (model), `answers` (EM and F1), `reading_runs` (trainings), `pretrained`.
"""
