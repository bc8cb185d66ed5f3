"""The test kit: a real engine in memory for the tests of people who write jobs."""
