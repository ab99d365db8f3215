"""What was handed in: files -> the code of each exercise. Nothing here runs any of it."""
