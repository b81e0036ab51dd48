"""What the stories of e2e/suites are told with: a cluster, the installed chart, jobs."""
