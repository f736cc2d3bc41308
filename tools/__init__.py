"""The runner: executes the chapters with papermill, keeps what is whole, builds the
site."""
