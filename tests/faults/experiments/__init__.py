"""The experiments, one in each file. Each file has a function `run(outcome, binary)`."""
