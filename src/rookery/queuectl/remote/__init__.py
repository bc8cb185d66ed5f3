"""`queuectl --server`: the same commands, with the jobs at a Rookery server."""
