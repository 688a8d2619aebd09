import FoundationEssentials
import TransferModel

/// moto's S3, in memory, with URLs that boto3 presigned as a service does for its users.
package final class S3Server: ServerProcess, @unchecked Sendable {
    /// Presigned URLs of one object.
    package struct Object: Sendable {
        package var put: String
        package var get: String
        package var parts: [String]
        /// Of the multipart upload; empty where there are no parts.
        package var complete: String
    }

    package static func start() async throws -> S3Server {
        let server = try S3Server()
        try Files.write(
            server.folder.file("presign.py"),
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

            def sign(operation, **more):
                return s3.generate_presigned_url(operation, Params={**target, **more})

            s3.create_bucket(Bucket="bucket")
            urls = {"put": sign("put_object"), "get": sign("get_object"), "parts": [], "complete": ""}
            if parts:
                upload = s3.create_multipart_upload(**target)["UploadId"]
                urls["parts"] = [sign("upload_part", UploadId=upload, PartNumber=n + 1) for n in range(parts)]
                urls["complete"] = sign("complete_multipart_upload", UploadId=upload)
            with open(answer, "w") as file:
                json.dump(urls, file)

            """)
        try await server.startServer([
            try PythonEnvironment.python(), "-m", "moto.server", "-H", "127.0.0.1", "-p", "\(server.port)",
        ])
        return server
    }

    /// - Parameters:
    ///   - parts: of a multipart upload that is begun; 0 for none.
    ///   - proxy: port that the URLs name instead of the server's own.
    package func presign(_ key: String, parts: Int = 0, through proxy: UInt16? = nil) async throws -> Object {
        let answer = folder.file("urls-\(key).json")
        try await Program.require([
            try PythonEnvironment.python(), folder.file("presign.py"), "http://127.0.0.1:\(proxy ?? port)", key,
            "\(parts)", answer,
        ])
        let urls = try JSONDecoder().decode(JSONValue.self, from: Data(try Files.read(answer)))
        guard let put = urls["put"]?.stringValue, let get = urls["get"]?.stringValue,
            let complete = urls["complete"]?.stringValue, let parts = urls["parts"]?.arrayValue
        else { throw SupportError("presigned URLs: \(urls)") }
        return Object(put: put, get: get, parts: parts.compactMap(\.stringValue), complete: complete)
    }

    /// Requests that stored or tried to store parts of an object: number and status, in order.
    package func parts(of key: String) -> [(number: Int, status: Int)] {
        requests.compactMap { request in
            guard request.method == "PUT", request.target.hasPrefix("/bucket/\(key)?"),
                let number = request.target.firstRange(of: "partNumber=").flatMap({
                    Int(request.target[$0.upperBound...].prefix(while: \.isNumber))
                })
            else { return nil }
            return (number, request.status)
        }
    }
}
