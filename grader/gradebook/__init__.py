"""Compute the mark that counts from the measured points: policy, lateness, marks by hand. Nothing is measured here."""
