"""The queue's policy: when jobs run, how many run at once, and when failed jobs are retried."""
