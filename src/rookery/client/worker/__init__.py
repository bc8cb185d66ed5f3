"""Workers: the jobs of an app taken from a server, run, and told of."""
