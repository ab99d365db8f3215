"""Compare what was observed with the solution and the known mistakes: trace -> verdict, explanation, lines, feedback.

This room knows the answers, so it runs outside the sandbox only. `assess` is the whole in one function: `judge` decides
which checks pass, `explain` finds the known mistakes that behave as the submission does, `locate` finds the learner's
lines, and `gather_evidence` what else there is to show. `repair` searches for an edit where no known mistake fits.
"""
