"""A running server: gathers operations into batches, keeps the time, lets long polls wait, tells what happened."""
