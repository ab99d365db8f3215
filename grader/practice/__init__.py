"""클리닉: broken functions, drawn from the known mistakes, for a learner to mend; those that were made come back."""
