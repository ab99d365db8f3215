"""Check what is said of mistakes against what was measured."""
