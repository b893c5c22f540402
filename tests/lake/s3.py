"""An S3 server on this machine with a bucket `lake`: prints its address, serves until its input ends.

    s3.py
"""

import sys

import boto3
from moto.server import ThreadedMotoServer


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "tests", "aws_secret_access_key": "tests-secret"}
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys).create_bucket(Bucket="lake")
    print(endpoint, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
