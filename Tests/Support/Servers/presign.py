"""Creates a bucket and presigned URLs of one object, as a service does for its users: presign.py ENDPOINT KEY PARTS ANSWER.

Writes JSON to ANSWER: put and get. With PARTS it also starts a multipart upload, and adds parts, complete and abort, and
in `fresh` the same three signed again.
"""

import json
import sys

import boto3
from botocore.config import Config

endpoint, key, parts, answer = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
s3 = boto3.client(
    "s3", endpoint_url=endpoint, region_name="us-east-1",
    aws_access_key_id="key", aws_secret_access_key="secret",
    config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
target = {"Bucket": "bucket", "Key": key}


def sign(operation, seconds=3600, **more):
    return s3.generate_presigned_url(operation, Params={**target, **more}, ExpiresIn=seconds)


def multipart(upload, seconds):
    return {
        "parts": [sign("upload_part", seconds, UploadId=upload, PartNumber=n + 1) for n in range(parts)],
        "complete": sign("complete_multipart_upload", seconds, UploadId=upload),
        "abort": sign("abort_multipart_upload", seconds, UploadId=upload),
    }


s3.create_bucket(Bucket="bucket")
urls = {"put": sign("put_object"), "get": sign("get_object"), "parts": [], "complete": "", "abort": "", "fresh": {}}
if parts:
    upload = s3.create_multipart_upload(**target)["UploadId"]
    urls.update(multipart(upload, 3600))
    urls["fresh"] = multipart(upload, 7200)
with open(answer, "w") as file:
    json.dump(urls, file)
