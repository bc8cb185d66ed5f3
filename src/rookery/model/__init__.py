"""What a job is, as pure data: states, priorities, backoff, durations, instants, ids, names."""
