"""Drivers of lesson 04: SAM, its step and its accumulation, sharpness, `lambda_max`, and question answering with SAM."""
