import TestSupport
import Testing
import TransferModel

/// A server that never ends one of the parts of an answer that HTTP allows to be endless.
struct EndlessAnswer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let behaviour: Behaviour
    /// The codes that the task may show; nil if it is complete nevertheless. Versions of libcurl differ.
    let codes: [String?]

    /// - Parameters:
    ///   - head: sent once.
    ///   - piece: sent until the daemon hangs up.
    private init(_ name: String, _ head: String, _ piece: String, _ codes: String?...) {
        testDescription = name
        self.codes = codes
        behaviour = Behaviour { _, reply in
            try reply.raw(Array(head.utf8)[...])
            let pieces = Array(String(repeating: piece, count: max(1, 16_384 / piece.utf8.count)).utf8)
            while true { try reply.raw(pieces[...]) }
        }
    }

    static let all: [EndlessAnswer] = {
        let ok = "HTTP/1.1 200 OK\r\n"
        let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
        return [
            EndlessAnswer("fields", ok, "X-Field: value\r\n", "http.protocol"),
            EndlessAnswer("one field", ok + "X-Field: ", "value", "http.protocol"),
            EndlessAnswer("a field's name", ok, "X", "http.protocol"),
            EndlessAnswer("a folded field", ok + "X-Field: a\r\n", " value\r\n", "http.protocol"),
            EndlessAnswer("the status line", "HTTP/1.1 200 ", "OK", "http.protocol"),
            EndlessAnswer("interim answers", "", "HTTP/1.1 103 Hints\r\nLink: <a>\r\n\r\n", "http.protocol"),
            EndlessAnswer("100", "", "HTTP/1.1 100 Continue\r\n\r\n", "http.protocol"),
            EndlessAnswer("trailers", chunked + "1\r\na\r\n0\r\n", "X-Field: value\r\n", "http.protocol"),
            EndlessAnswer(
                "one trailer", chunked + "1\r\na\r\n0\r\nX: ", "value", "http.protocol", "network.lost"),
            EndlessAnswer(
                "heads after the body", chunked + "3\r\nabc\r\n0\r\n", ok + "Content-Length: 1\r\n\r\n",
                "http.protocol", "network.lost", nil),
            EndlessAnswer("a chunk's size", chunked, "0", "http.protocol", "network.lost"),
            EndlessAnswer("a chunk's extension", chunked + "1;a=", "b", "network.timeout", "network.lost"),
            EndlessAnswer(
                "the body of a redirect",
                "HTTP/1.1 302 Found\r\nLocation: /good\r\nTransfer-Encoding: chunked\r\n\r\n", "4\r\nbody\r\n", nil),
            // On a reused connection, it may be the rest of an earlier answer.
            EndlessAnswer("what is no HTTP", "SSH-2.0-OpenSSH\r\n", "x", "http.protocol", "network.lost"),
            EndlessAnswer("the body of an error", "HTTP/1.1 503 Busy\r\n\r\n", "body", "http.status"),
            EndlessAnswer("more than its length", ok + "Content-Length: 5\r\n\r\n", "body", nil),
        ]
    }()
}

extension EndToEnd.Downloading {
    /// Endless answers cost neither memory nor time: the daemon hangs up, and tries again if the cause may pass.
    struct HostileServer {
        private static let resource = Resource.version(1, size: 1000)
        /// More than everything that the daemon keeps of an answer.
        private static let memory: Int64 = 64 << 20

        @Test(.timeLimit(.minutes(2)))
        func whatNeverEndsIsHungUpOn() async throws {
            let scene = try await Scene()
            let before = try scene.daemon.residentMemory()
            scene.origin.serve("/good", .good(Self.resource))
            for (number, answer) in EndlessAnswer.all.enumerated() {
                let path = "/\(number)"
                scene.origin.serve(path, answer.behaviour, .good(Self.resource))
                let id = try await scene.add(path, to: "\(number)", ["timeoutIntervalForRequest": 1])
                let task = try await scene.probe.wait(for: id, "completed", "failed")
                let events = try await scene.probe.storedEvents([
                    "tasks": [.integer(id)], "types": ["task.waiting", "task.failed"],
                ])
                let codes = events.compactMap(\.errorCode)
                // A request that met this on another one's connection was repeated once, and got the good answer.
                let isRepeated = codes.isEmpty && scene.origin.requests(path).count > 1
                #expect(answer.codes.contains(codes.first) || isRepeated, "\(answer): \(codes)")
                if task["state"] == "completed", scene.origin.requests(path).count > 1 {
                    #expect(Self.resource.content.matches(scene.file("\(number)")), "\(answer)")
                }
            }
            #expect(try scene.daemon.peakMemory() - before < Self.memory)
            #expect(scene.daemon.isRunning)
        }

        /// libcurl accepts 100 KiB, and would not accept more the next time.
        @Test(.timeLimit(.minutes(1)))
        func anOverlongFieldIsNotAskedForAgain() async throws {
            let scene = try await Scene()
            let field = "X-Field: \(String(repeating: "v", count: 200_000))\r\n"
            let overlong = Behaviour { _, reply in
                try reply.raw(Array("HTTP/1.1 200 OK\r\n\(field)Content-Length: 1\r\n\r\na".utf8)[...])
            }
            scene.origin.serve("/file", overlong, .good(Self.resource))
            let task = try await scene.probe.wait(for: try await scene.add(), "completed", "failed")
            #expect(task.errorCode == "http.protocol" && task["error", "retryable"] == false, "\(task)")
            #expect(task["error", "message"]?.stringValue?.contains("longer than libcurl accepts") == true)
            #expect(scene.origin.requests().count == 1)
        }
    }
}
