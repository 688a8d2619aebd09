import Glibc
import TestSupport
import Testing
import Threading
import TransferModel

extension EndToEnd.Scheduling {
    /// The example helpers work as they are.
    struct ExampleHelpers {
        /// The program in docs/helpers.md.
        @Test(.timeLimit(.minutes(1))) func theShortestHelperWorks() async throws {
            let bench = try await HelperScene(content: Content(seed: 4, size: 500_000))
            let document = try Files.text(try PythonEnvironment.file("docs/helpers.md"))
            let start = try #require(document.firstRange(of: "```python\n")?.upperBound)
            let end = try #require(document[start...].firstRange(of: "```")?.lowerBound)
            let program = String(document[start..<end])
            #expect(program.split(separator: "\n").count <= 35)
            try await bench.install("pool", program)
            mkdir(bench.home + "/pool", 0o755)
            try Files.write(bench.home + "/pool/a file", bench.content.bytes)
            let id = try await bench.probe.add("pool:a%20file", to: bench.scene.file("one"), Scene.quickRetry)
            try await bench.probe.wait(for: id, "completed")
            #expect(bench.hasArrived("one"))
            let none = try await bench.probe.add("pool:none", to: bench.scene.file("two"), Scene.quickRetry)
            #expect(try await bench.probe.wait(for: none, "failed").errorCode == "http.status")
            // It resumes from the held bytes of the same version.
            let limited = try await bench.probe.add(
                "pool:a%20file", to: bench.scene.file("three"), ["rateLimit": 100_000])
            try await bench.probe.wait(for: limited, bytes: 1)
            #expect(try await bench.probe.control("pause", limited))
            try await bench.probe.call("task.update", ["id": .integer(limited), "rateLimit": 0])
            #expect(try await bench.probe.control("resume", limited))
            let task = try await bench.probe.wait(for: limited, "completed")
            #expect(bench.hasArrived("three") && task["response", "resumedFrom"] != nil, "\(task)")
        }

        @Test(.timeLimit(.minutes(1))) func gopherWorks() async throws {
            let bench = try await HelperScene()
            let program = try Files.text(try PythonEnvironment.file("Examples/schemes/gopher"))
            try await bench.install("gopher", program)
            let content = Content(seed: 5, size: 300_000)
            let server = try GopherServer([
                "/file": content.bytes, "/text": Array("one\r\n..two\r\nthree\r\n.\r\n".utf8),
                "/none": Array("3'/none' is not here\t\terror.host\t1\r\n.\r\n".utf8), "/empty": [],
            ])
            func add(_ path: String, to name: String) async throws -> Int64 {
                try await bench.probe.add(
                    "gopher://127.0.0.1:\(server.port)/\(path)", to: bench.scene.file(name), ["retry": ["attempts": 1]])
            }
            try await bench.probe.wait(for: try await add("9/file", to: "file"), "completed")
            #expect(content.matches(bench.scene.file("file")))
            try await bench.probe.wait(for: try await add("0/text", to: "text"), "completed")
            #expect(try Files.text(bench.scene.file("text")) == "one\r\n.two\r\nthree\r\n")
            #expect(
                try await bench.probe.wait(for: try await add("9/none", to: "none"), "failed").errorCode
                    == "http.status")
            #expect(
                try await bench.probe.wait(for: try await add("9/empty", to: "empty"), "failed").errorCode
                    == "network.lost")
            let closed = try await bench.probe.add(
                "gopher://127.0.0.1:\(try ListeningSocket.freePort())/9/x", to: bench.scene.file("closed"),
                ["retry": ["attempts": 1]])
            #expect(try await bench.probe.wait(for: closed, "failed").errorCode == "network.connect")
        }
    }
}

/// Answers selectors (RFC 1436 section 2) with fixed bytes, and closes.
private final class GopherServer: Sendable {
    private let socket: ListeningSocket
    private let isStopping = Guarded(false)
    var port: UInt16 { socket.port }

    init(_ items: [String: [UInt8]]) throws {
        let socket = try ListeningSocket()
        self.socket = socket
        let isStopping = isStopping
        _ = NamedThread.start("gopher") {
            while let connection = socket.accept(until: { isStopping.withLock { $0 } }) {
                defer { close(connection) }
                var line: [UInt8] = []
                var byte: UInt8 = 0
                while !line.ends(with: "\r\n"), recv(connection, &byte, 1, 0) == 1 { line.append(byte) }
                let answer = items[String(decoding: line.dropLast(2), as: UTF8.self)] ?? []
                var sent = 0
                while sent < answer.count {
                    let count = answer[sent...].withUnsafeBytes {
                        send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard count > 0 else { break }
                    sent += count
                }
            }
        }
    }

    deinit { isStopping.withLock { $0 = true } }
}

extension [UInt8] {
    fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
