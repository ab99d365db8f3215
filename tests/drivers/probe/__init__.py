"""A lesson of two small exercises for the sandbox's own tests, so that they do not depend on any real lesson.

It is imported as `grader.exercises.probe`, whatever folder it lies in: hence relative imports.
"""
