"""Names of the images; e2e/run builds and loads them."""

import os

TAG = os.environ.get("E2E_TAG", "0.1.0")
OPERATOR = f"localhost/tensorfleet-operator:{TAG}"
RUNTIME = f"localhost/tensorfleet-runtime:{TAG}"
# The runtime with the examples' training programs on top.
EXAMPLES = f"localhost/tensorfleet-examples:{TAG}"
# A shell and nothing else.
SHELL = f"localhost/tensorfleet-e2e-shell:{TAG}"
