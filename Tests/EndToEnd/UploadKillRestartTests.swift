import TestSupport
import Testing
import TransferModel

/// Uploads that cannot be resumed, whose daemon is killed five times at random. Each attempt sends the whole file, and
/// the last one succeeds.
struct UploadKillRestartTests {
    private typealias Run = UploadKillRun

    private func run(_ name: String, _ method: String, _ server: UploadServer) -> UploadKillRun {
        var run = Run(name: name, content: Run.small, server: server)
        run.pace = 2
        run.isContinued = false
        run.attempts = { server.requests().count }
        guard method == "POST" else { return run }
        // The server may have acted on a POST: the task reports that, and its user decides.
        run.afterwards = { probe, id in
            var task: JSONValue = .null
            let isSettled = try await eventually {
                task = try await probe.task(id)
                let isSending = task["state"] == "running" && (task["bytesSent"]?.integerValue ?? 0) > 0
                return task["state"] == "failed" || isSending
            }
            #expect(isSettled)
            // If it was killed before it started, it starts by itself.
            guard task["state"] == "failed" else { return }
            #expect(task.errorCode == "network.lost")
            #expect(try await probe.control("retry", id))
        }
        return run
    }

    /// The bytes of the current request.
    private func arriving(_ server: UploadServer) -> Int {
        guard let last = server.requests().last, !last.isCut, last.status < 200 else { return 0 }
        return last.received
    }

    private func expectWholeAtTheEnd(_ server: UploadServer, length: Int) {
        let requests = server.requests()
        #expect(requests.count { $0.isCut } >= Run.kills)
        #expect(requests.count { (200..<300).contains($0.status) } == 1)
        #expect(requests.last?.received == length)
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["put", "post"])
    func wholeBody(way: String) async throws {
        let server = try UploadServer(PlainRules())
        let ending = try await run(way, way.uppercased(), server)
            .run(to: server.url("/file"), ["uploadProtocol": .string(way)]) { arriving(server) }
        #expect(ending.resumed.isEmpty)
        expectWholeAtTheEnd(server, length: Run.small.size)
        #expect(server.files["/file"]?.content == Run.small)
    }

    @Test(.timeLimit(.minutes(5)))
    func multipart() async throws {
        let server = try UploadServer(PlainRules())
        let ending = try await run("multipart", "POST", server).run(
            to: server.url("/form"), ["uploadProtocol": "multipart", "formFields": ["a": "b"]]
        ) { arriving(server) }
        let body = try #require(server.files["/form"]?.bytes)
        expectWholeAtTheEnd(server, length: body.count)
        #expect(ending.resumed.isEmpty)
        // RFC 7578: the file's part ends before the closing boundary, which is as long as the first line.
        let boundary = body.prefix { $0 != UInt8(ascii: "\r") }
        let tail = body.count - (boundary.count + 2 + 4)
        let isIdentical = Array(body[(tail - Run.small.size)..<tail]) == Run.small.bytes
        #expect(isIdentical)
    }
}
