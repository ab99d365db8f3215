"""Read what students handed in: files -> the code of each exercise. Nothing in this room runs any of it."""
