#!/usr/bin/env python3
"""Runs a command beside stores of files: an S3-compatible one with what lends keys to pods and machines, Google Cloud Storage's
emulator with a metadata service, WebHDFS, and a web server.

usage: with_stores.py COMMAND...   (needs moto[server] and gcp-storage-emulator)

The command finds them by the variables that their users set, and TEST_... for the rest. Exit code: the command's; 77 without moto or
the emulator.
"""
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading

try:
    from gcp_storage_emulator.server import create_server
    from werkzeug.serving import WSGIRequestHandler, make_server
    from werkzeug.wrappers import Request, Response

    import s3
    import webhdfs
    from gcp_storage_emulator.handlers import objects
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r requirements-test.txt")
    sys.exit(77)

GOOGLE_TOKEN = "of the service account"
WEB_BYTES = bytes(i * 7 % 251 for i in range(3 << 20))


class Web:
    """/ranges: a file with ranges and a tag; /changing: another one at each request; /plain: without ranges; /empty; /moved: a
    redirection to /ranges; /link: one to the machine's own link; /sick: fails twice, then answers."""

    def __init__(self):
        self.count = 0

    def __call__(self, environ, start_response):
        request = Request(environ)
        self.count += 1
        if request.path == "/moved":
            response = Response(status=302, headers={"location": "/ranges"})
        elif request.path == "/link":
            response = Response(status=302, headers={"location": "http://169.254.169.254/latest/meta-data/"})
        elif request.path == "/plain":
            response = Response(b"no ranges here")
        elif request.path in ("/ranges", "/changing", "/empty", "/a b"):
            response = Response(b"" if request.path == "/empty" else WEB_BYTES)
            response.set_etag("one" if request.path != "/changing" else str(self.count))
            if request.path == "/empty":
                response = Response(status=416, headers={"content-range": "bytes */0"})
            else:
                response.make_conditional(request, accept_ranges=True, complete_length=len(WEB_BYTES))
        elif request.path == "/sick":
            response = Response(b"well", status=200 if self.count % 3 == 0 else 503)
        else:
            response = Response("no such thing", status=404)
        return response(environ, start_response)


def google_metadata(environ, start_response):
    """The metadata service of Google's clouds, and what exchanges tokens."""
    path = environ["PATH_INFO"]
    if path == "/computeMetadata/v1/instance/service-accounts/default/token" and environ.get("HTTP_METADATA_FLAVOR") == "Google":
        return s3.answer(start_response, "200 OK", json.dumps({"access_token": GOOGLE_TOKEN, "expires_in": 3599}))
    if path == "/token":
        form = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
        good = "assertion=" in form or "subject_token=of%20the%20cluster" in form
        return s3.answer(start_response, "200 OK" if good else "400 Bad Request", json.dumps(
            {"access_token": GOOGLE_TOKEN, "expires_in": 3599} if good else {"error_description": "not known here"}))
    return s3.answer(start_response, "403 Forbidden", "")


def needs_google_token(port):
    """Passes on to the emulator what brings the token."""
    import http.client

    def app(environ, start_response):
        if environ.get("HTTP_AUTHORIZATION") != "Bearer " + GOOGLE_TOKEN:
            return s3.answer(start_response, "401 Unauthorized", json.dumps({"error": {"message": "Anonymous caller"}}))
        connection = http.client.HTTPConnection("127.0.0.1", port)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        connection.request(environ["REQUEST_METHOD"], environ["RAW_URI"], body,
                           {"range": environ["HTTP_RANGE"]} if "HTTP_RANGE" in environ else {})
        answer = connection.getresponse()
        content = answer.read()
        start_response(f"{answer.status} {answer.reason}", [("content-type", "application/json")])
        return [content]

    return app


class KeepsConnections(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"


def let_objects_be_empty():
    """The emulator takes a request without a body for one whose body is missing."""
    upload = objects._media_upload

    def with_a_body(request, response, storage):
        if request.data is None:
            request._data = b""
        return upload(request, response, storage)

    objects._media_upload = with_a_body


def serve(app):
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=KeepsConnections)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def credential_files(folder, tokens):
    """Files of credentials as Google's tools write them."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    files = {
        "service_account": {"type": "service_account", "client_email": "a@b", "private_key_id": "1", "private_key": key,
                            "token_uri": tokens + "/token"},
        "external_account": {"type": "external_account", "audience": "//iam", "token_url": tokens + "/token",
                             "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                             "credential_source": {"file": folder + "/subject"}},
        "unknown": {"type": "gdch_service_account"},
    }
    for name, content in files.items():
        with open(f"{folder}/{name}.json", "w") as out:
            json.dump(content, out)
    for name, content in (("subject", "of the cluster\n"), ("web_token", s3.WEB_TOKEN + "\n"),
                          ("agent_token", s3.AGENT_TOKEN), ("hdfs_token", webhdfs.TOKEN)):
        with open(f"{folder}/{name}", "w") as out:
            out.write(content)


def main():
    for name in ("werkzeug", "gcp_storage_emulator"):
        logging.getLogger(name).setLevel(logging.ERROR)
    for name in list(os.environ):
        if name.startswith("AWS_"):
            del os.environ[name]
    store, lenders, google = serve(s3.make_store()), serve(s3.make_lenders()), serve(google_metadata)
    let_objects_be_empty()
    emulator = create_server("127.0.0.1", 0, in_memory=True, default_bucket="bucket")
    emulator.start()
    port = emulator._api._httpd.server_port
    hdfs, web = serve(webhdfs.WebHdfs()), serve(Web())
    with tempfile.TemporaryDirectory() as folder:
        credential_files(folder, google)
        env = dict(os.environ, no_proxy="127.0.0.1", AWS_ENDPOINT_URL=store, AWS_ACCESS_KEY_ID=s3.KEY,
                   AWS_SECRET_ACCESS_KEY=s3.SECRET, AWS_REGION=s3.REGION, STORAGE_EMULATOR_HOST=f"127.0.0.1:{port}",
                   TENSORFLEET_WEBHDFS=f"{hdfs}/standby,{hdfs}", HADOOP_USER_NAME=webhdfs.USER, TEST_WEB=web,
                   TEST_HDFS=hdfs, TEST_LENDERS=lenders, TEST_GOOGLE_METADATA=google, TEST_CREDENTIALS=folder,
                   TEST_GOOGLE_STORE=serve(needs_google_token(port)))
        try:
            return subprocess.run(sys.argv[1:], env=env, check=False).returncode
        finally:
            emulator.stop()  # its thread would keep this process


if __name__ == "__main__":
    sys.exit(main())
