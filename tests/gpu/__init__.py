"""What a GPU in the machine changes, and what it may not change; run on a real one, or on the pretended one:

HANSTEP_FAKE_CUDA=1 pytest -m cuda
"""
