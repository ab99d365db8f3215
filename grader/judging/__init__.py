"""What was observed -> verdict and diagnosis. Knows the answers; never goes into the sandbox."""
