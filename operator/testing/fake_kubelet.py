"""A node for tests: pods are run by saying so, and their logs are what the test says.

Everything goes through a real API server: the node is registered, its serving certificate is signed by the
cluster's own signer, pods are bound to it and their status is written as a kubelet writes it. The API server must
reach this machine's 127.0.0.1, as that of `cluster up --control-plane-only --controllers` does.
"""
import base64
import http.server
import json
import ssl
import subprocess
import threading
import time

from kubernetes import client

STAMP = "2024-01-05T22:58:20Z"


class FakeKubelet:
    def __init__(self, name, folder):
        self.name = name
        self.logs = {}  # by pod name
        self._core = client.CoreV1Api()
        self._certificates = client.CertificatesV1Api()
        self._folder = folder
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._register()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self._certificate())
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._core.delete_node(self.name)

    def _handler(self):
        kubelet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                # /containerLogs/<namespace>/<pod>/<container>?...
                parts = self.path.split("?")[0].split("/")
                known = len(parts) == 5 and parts[1] == "containerLogs" and parts[4] == "tensorflow"
                text = kubelet.logs.get(parts[3], "") if known else "no such container"
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", "text/plain")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        return Handler

    def _register(self):
        self._core.create_node({"metadata": {"name": self.name}})
        self._core.patch_node_status(self.name, {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._server.server_address[1]}},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "",
                            "lastHeartbeatTime": STAMP, "lastTransitionTime": STAMP}]}})

    def _certificate(self):
        """Asks for a certificate as the node, and grants it as the administrator."""
        key, request = self._folder / "kubelet.key", self._folder / "kubelet.csr"
        subprocess.run(["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request,
                        "-subj", f"/O=system:nodes/CN=system:node:{self.name}",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        body = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
                "metadata": {"name": self.name},
                "spec": {"request": base64.b64encode(request.read_bytes()).decode(),
                         "signerName": "kubernetes.io/kubelet-serving",
                         "usages": ["digital signature", "key encipherment", "server auth"]}}
        subprocess.run(["kubectl", "--as", f"system:node:{self.name}", "--as-group", "system:nodes", "create",
                        "-f", "-"], input=json.dumps(body), text=True, check=True, capture_output=True)
        subprocess.run(["kubectl", "certificate", "approve", self.name], check=True, capture_output=True)
        try:
            for _ in range(100):
                issued = self._certificates.read_certificate_signing_request(self.name).status.certificate
                if issued:
                    break
                time.sleep(0.1)
            assert issued, "the cluster has not signed the node's certificate within ten seconds"
        finally:
            self._certificates.delete_certificate_signing_request(self.name)
        certificate = self._folder / "kubelet.crt"
        certificate.write_bytes(base64.b64decode(issued))
        return certificate, key

    def run(self, namespace, pod):
        self._core.create_namespaced_binding(namespace, {
            "metadata": {"name": pod}, "target": {"apiVersion": "v1", "kind": "Node", "name": self.name}},
            _preload_content=False)
        self._set(namespace, pod, "Running", {"running": {"startedAt": STAMP}}, ready=True)

    def end(self, namespace, pod, exit_code):
        self._set(namespace, pod, "Failed" if exit_code else "Succeeded",
                  {"terminated": {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}})

    def _set(self, namespace, pod, phase, state, ready=False):
        self._core.patch_namespaced_pod_status(pod, namespace, {"status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": STAMP}],
            "containerStatuses": [{"name": "tensorflow", "image": "x", "imageID": "", "ready": ready,
                                   "restartCount": 0, "state": state}]}})
