import FoundationEssentials
import TransferModel

/// moto's S3, in memory, with URLs that boto3 presigned, as a service does for its users.
package final class S3Server: ServerProcess, @unchecked Sendable {
    /// Presigned URLs of one object.
    package struct Object: Sendable {
        package var put: String
        package var get: String
        package var parts: [String]
        /// The completion of the multipart upload; empty if there are no parts.
        package var complete: String
        package var abort: String
        /// The URLs of the multipart upload, signed again for 7200 s.
        package var fresh: JSONValue
    }

    package static func start() async throws -> S3Server {
        let server = try S3Server()
        try await server.startServer([
            try PythonEnvironment.python(), "-m", "moto.server", "-H", "127.0.0.1", "-p", "\(server.port)",
        ])
        return server
    }

    /// - Parameters:
    ///   - parts: the parts of a multipart upload to begin; 0 for none.
    ///   - proxy: the port in the URLs, instead of the server's own.
    package func presign(_ key: String, parts: Int = 0, through proxy: UInt16? = nil) async throws -> Object {
        let answer = folder.file("urls-\(key).json")
        try await Program.require([
            try PythonEnvironment.python(), try PythonEnvironment.script("presign.py"),
            "http://127.0.0.1:\(proxy ?? port)", key,
            "\(parts)", answer,
        ])
        let urls = try ForeignJSON.value(try Files.read(answer))
        guard let put = urls["put"]?.stringValue, let get = urls["get"]?.stringValue,
            let complete = urls["complete"]?.stringValue, let parts = urls["parts"]?.arrayValue
        else { throw SupportError("presigned URLs: \(urls)") }
        return Object(
            put: put, get: get, parts: parts.compactMap(\.stringValue), complete: complete,
            abort: urls["abort"]?.stringValue ?? "", fresh: urls["fresh"] ?? [:])
    }

    /// The requests that stored or tried to store parts of an object: number and status, in order.
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
