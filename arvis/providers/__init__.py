"""One file per model vendor. A provider turns a `RunRequest` into one call and its answer into a `RunResult`."""
