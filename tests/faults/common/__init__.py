"""What the experiments share: the service as a process, its clients, the company that they use, and the shim."""
