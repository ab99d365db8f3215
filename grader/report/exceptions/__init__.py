"""Say what an exception means and what to do about it."""
