"""Drivers of lesson 04: SAM (sharpness-aware minimization), and what belongs to it.

These are its step and accumulation, sharpness, `lambda_max`, and question answering with SAM.
"""
