"""Drivers of lesson 04: SAM, its step and accumulation, sharpness, `lambda_max`, and question answering with SAM."""
