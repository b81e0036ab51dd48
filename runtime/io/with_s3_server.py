#!/usr/bin/env python3
"""Runs a command beside an S3-compatible server with a bucket named "bucket", which checks signatures as Amazon's does.

usage: with_s3_server.py COMMAND...   (needs moto[server])

The command finds the server by AWS_ENDPOINT_URL. Exit code: the command's; 77 without moto.
"""
import logging
import os
import re
import subprocess
import sys
import threading

try:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server
except ImportError:
    print("skipped: there is no moto; pip install -r requirements-test.txt")
    sys.exit(77)

KEY, SECRET, REGION = "test", "test secret/+", "us-east-1"


def signature(environ, signed_headers):
    """What Amazon's own library makes of the request that came."""
    headers = {}
    for name in signed_headers:
        key = name.upper().replace("-", "_")
        headers[name] = environ.get(key if key == "CONTENT_TYPE" else "HTTP_" + key)
    if None in headers.values():
        return "a signed header is missing"
    request = AWSRequest(method=environ["REQUEST_METHOD"], headers=headers,
                         url="http://%s%s" % (environ["HTTP_HOST"], environ["RAW_URI"]))
    request.context["timestamp"] = environ["HTTP_X_AMZ_DATE"]
    auth = S3SigV4Auth(Credentials(KEY, SECRET), "s3", REGION)
    return auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)


class Checking:
    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        found = re.search("SignedHeaders=([^, ]*), *Signature=([0-9a-f]*)", environ.get("HTTP_AUTHORIZATION", ""))
        if found and signature(environ, found.group(1).split(";")) == found.group(2):
            return self.app(environ, start_response)
        start_response("403 Forbidden", [("content-type", "application/xml")])
        return [b"<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message></Error>"]


def make_bucket(app):
    def start_response(status, headers, exc_info=None):
        assert status.startswith("200"), status
    environ = {"REQUEST_METHOD": "PUT", "PATH_INFO": "/bucket", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
               "HTTP_HOST": "localhost", "wsgi.url_scheme": "http", "wsgi.input": sys.stdin.buffer, "CONTENT_LENGTH": "0",
               "QUERY_STRING": "", "SCRIPT_NAME": "", "wsgi.errors": sys.stderr, "HTTP_AUTHORIZATION":
               "AWS4-HMAC-SHA256 Credential=test/20130524/us-east-1/s3/aws4_request"}
    list(app(environ, start_response))


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = DomainDispatcherApplication(create_backend_app)
    make_bucket(app)
    server = make_server("127.0.0.1", 0, Checking(app), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = dict(os.environ, AWS_ENDPOINT_URL="http://127.0.0.1:%d" % server.server_port, AWS_ACCESS_KEY_ID=KEY,
               AWS_SECRET_ACCESS_KEY=SECRET, AWS_REGION=REGION, no_proxy="127.0.0.1")
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN"):
        env.pop(name, None)
    try:
        return subprocess.run(sys.argv[1:], env=env, check=False).returncode
    finally:
        server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
