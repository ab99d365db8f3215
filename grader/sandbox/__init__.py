"""Run submissions isolated and bring back the traces of what they did."""
