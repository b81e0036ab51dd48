"""Names of the images; e2e/run builds and loads them."""

import os

TAG = os.environ.get("E2E_TAG", "0.1.0")
OPERATOR = f"localhost/tensorfleet-operator:{TAG}"
RUNTIME = f"localhost/tensorfleet-runtime:{TAG}"
# The runtime with the trainers of the stories on top.
TRAINER = f"localhost/tensorfleet-e2e-trainer:{TAG}"
# A shell and nothing else.
SHELL = f"localhost/tensorfleet-e2e-shell:{TAG}"
