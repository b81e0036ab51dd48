"""An S3-compatible store with a bucket named "bucket", which checks signatures as Amazon's does, and the services that lend keys to
pods and machines: moto's, but for what moto does not check.
"""
import json
import re
import sys

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app

KEY, SECRET, REGION = "test", "test secret/+", "us-east-1"
WEB_TOKEN, AGENT_TOKEN, MACHINE_TOKEN = "signed for the pod", "of the agent", "of the machine"
secrets = {KEY: SECRET}  # by access key; those that were lent are added


def signature(environ, key, signed_headers):
    """What Amazon's own library makes of the request that came."""
    headers = {}
    for name in signed_headers:
        field = name.upper().replace("-", "_")
        headers[name] = environ.get(field if field == "CONTENT_TYPE" else "HTTP_" + field)
    if None in headers.values():
        return "a signed header is missing"
    request = AWSRequest(method=environ["REQUEST_METHOD"], headers=headers,
                         url="http://%s%s" % (environ["HTTP_HOST"], environ["RAW_URI"]))
    request.context["timestamp"] = environ["HTTP_X_AMZ_DATE"]
    auth = S3SigV4Auth(Credentials(key, secrets.get(key, "unknown")), "s3", REGION)
    return auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)


class Checking:
    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        found = re.search("Credential=([^/]*)/.*SignedHeaders=([^, ]*), *Signature=([0-9a-f]*)", environ.get("HTTP_AUTHORIZATION", ""))
        if found and signature(environ, found.group(1), found.group(2).split(";")) == found.group(3):
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


def make_store():
    """The store, as a WSGI application."""
    app = DomainDispatcherApplication(create_backend_app)
    make_bucket(app)
    return Checking(app)


def answer(start_response, status, body, kind="application/json"):
    start_response(status, [("content-type", kind)])
    return [body.encode()]


def lent(name):
    """Keys for an hour, in the form of agents and of the machine's metadata service."""
    secrets[name] = "secret of " + name
    return json.dumps({"AccessKeyId": name, "SecretAccessKey": secrets[name], "Token": "token of " + name,
                       "Expiration": "2099-01-01T00:00:00Z"})


def make_lenders():
    """What lends keys: /sts (moto's), /agent and /latest (the metadata service, second version)."""
    sts = create_backend_app("sts")

    def lend_by_token(environ, start_response):
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
        if "WebIdentityToken=" + WEB_TOKEN.replace(" ", "%20") not in body:
            return answer(start_response, "403 Forbidden", "<Message>the token is not ours</Message>", "text/xml")
        with sts.test_client() as client:
            made = client.post("/", data=body, content_type="application/x-www-form-urlencoded", headers={
                "host": "sts.amazonaws.com"})
        text = made.get_data(as_text=True)
        key, secret = (re.search("<%s>(.*?)</%s>" % (name, name), text).group(1)
                       for name in ("AccessKeyId", "SecretAccessKey"))
        secrets[key] = secret
        return answer(start_response, made.status, text, "text/xml")

    def lend(environ, start_response):
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path == "/sts/":
            return lend_by_token(environ, start_response)
        if path == "/agent" and environ.get("HTTP_AUTHORIZATION") == AGENT_TOKEN:
            return answer(start_response, "200 OK", lent("KEYOFPOD"))
        if path == "/latest/api/token" and method == "PUT" and environ.get("HTTP_X_AWS_EC2_METADATA_TOKEN_TTL_SECONDS"):
            return answer(start_response, "200 OK", MACHINE_TOKEN, "text/plain")
        if path.startswith("/latest/meta-data/iam/security-credentials/"):
            if environ.get("HTTP_X_AWS_EC2_METADATA_TOKEN") == MACHINE_TOKEN:
                role = path.rpartition("/")[2]
                return answer(start_response, "200 OK", lent("KEYOFMACHINE") if role == "the-role" else "the-role")
            return answer(start_response, "401 Unauthorized", "")
        return answer(start_response, "403 Forbidden", "")

    return lend
