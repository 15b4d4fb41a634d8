"""The code that the experiments share: the service as a process, its clients, a company and the shim."""
