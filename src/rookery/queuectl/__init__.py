"""`queuectl`: a queue of shell commands on one host, with no server: the engine on a file, opened by every command."""
