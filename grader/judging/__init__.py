"""Compare what was observed with the solution and the known mistakes: trace -> verdict, explanation, place.

This room knows the answers, so it runs outside the sandbox only. `judge` decides which checks pass, `explain` finds
the known mistakes that behave as the submission does, `locate` finds the learner's line, `diagnose` puts these
together, and `assess` turns the result into feedback. `repair` searches for an edit where no known mistake fits.
"""
