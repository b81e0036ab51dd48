#!/usr/bin/env python3
"""Runs a command beside an S3-compatible server with a bucket named "bucket".

usage: with_s3_server.py COMMAND...   (needs moto[server])

The command finds the server by AWS_ENDPOINT_URL. Exit code: the command's; 77 without moto.
"""
import os
import subprocess
import sys
import urllib.request

try:
    from moto.server import ThreadedMotoServer
except ImportError:
    print("skipped: there is no moto; pip install -r requirements-test.txt")
    sys.exit(77)


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        urllib.request.Request(f"{endpoint}/bucket", method="PUT"), timeout=10)
    env = dict(os.environ, AWS_ENDPOINT_URL=endpoint, AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test",
               AWS_REGION="us-east-1", no_proxy="127.0.0.1")
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN"):
        env.pop(name, None)
    try:
        return subprocess.run(sys.argv[1:], env=env, check=False).returncode
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
