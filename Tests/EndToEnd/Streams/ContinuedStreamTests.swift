import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// A body resumes where it stopped, in the same version, or not at all.
    struct ContinuedStreams {
        private let resource = Resource.version(1, size: 1 << 20)
        private static let cut = 300_000

        @Test(.timeLimit(.minutes(1)))
        func aBrokenBodyGoesOnWhereItStopped() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/file", .good(resource, cutAfter: Self.cut), .good(resource))
            let id = try await stream.add()
            try await stream.credit(id)
            let heard = try await stream.hear(id, until: "task.completed")
            #expect(Content(bytes: heard.bytes) == resource.content)
            #expect(
                heard.order.filter { $0 == "task.resumed" || $0 == "task.waiting" } == ["task.waiting", "task.resumed"])
            let requests = stream.origin.requests("/file").map(\.request)
            #expect(requests.map { $0.header("Range") } == [nil, "bytes=\(Self.cut)-"])
            #expect(requests.last?.header("If-Range") == "\"v1\"")
            #expect(requests.last?.header("Accept-Encoding") == "identity")
        }

        /// The second version is longer, so its length alone proves nothing.
        @Test(.timeLimit(.minutes(1)))
        func anotherVersionIsNotMixedIn() async throws {
            let stream = try await StreamScene()
            stream.origin.serve(
                "/file", .good(resource, cutAfter: Self.cut), .good(.version(2, size: 2 << 20)))
            let id = try await stream.add()
            try await stream.credit(id)
            let heard = try await stream.hear(id, until: "task.failed")
            #expect(heard.last.errorCode == "resume.validator_changed")
            #expect(heard.details?["delivered"]?.integerValue == Int64(Self.cut))
            #expect(heard.bytes == Array(resource.content.bytes[..<Self.cut]))
            #expect(stream.origin.requests("/file").count == 2)
        }

        @Test(.timeLimit(.minutes(1)))
        func whatNothingProvesIsNotContinued() async throws {
            let stream = try await StreamScene()
            let weak = Resource(resource.content, etag: "W/\"1\"")
            stream.origin.serve("/weak", .good(weak, cutAfter: Self.cut), .good(weak))
            stream.origin.serve("/post", .good(resource, cutAfter: Self.cut), .good(resource))
            stream.origin.serve("/range", .good(resource, cutAfter: 1000), .good(resource))
            for (path, more, reason) in [
                ("/weak", [:], "no strong validator"),
                ("/post", ["method": "POST", "body": ["text": "x"]], "GET"),
                ("/range", ["headers": [["Range", "bytes=0-9999"]]], "its own Range"),
            ] as [(String, [String: JSONValue], String)] {
                let id = try await stream.add(path, more)
                try await stream.credit(id)
                let heard = try await stream.hear(id, until: "task.failed")
                #expect(!heard.bytes.isEmpty)
                #expect(heard.details?["delivered"]?.integerValue == Int64(heard.bytes.count), "\(path)")
                #expect(heard.last["error", "retryable"]?.boolValue == false)
                #expect(heard.last["error", "message"]?.stringValue?.contains(reason) == true, "\(heard.last)")
                #expect(stream.origin.requests(path).count == 1)
                // A client's retry does not turn it into another body either.
                try await stream.probe.call("task.retry", ["ids": [.integer(id)]])
                let again = try await stream.hear(id, until: "task.failed", after: heard)
                #expect(again.bytes == heard.bytes && stream.origin.requests(path).count == 1)
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func untilTheFirstByteAnAttemptIsRepeated() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/file", .hangUp, .status(503), .good(resource))
            let id = try await stream.add()
            try await stream.credit(id)
            let heard = try await stream.hear(id, until: "task.completed")
            #expect(Content(bytes: heard.bytes) == resource.content)
        }

        @Test(.timeLimit(.minutes(1)))
        func aPausedStreamGoesOnWhereItStopped() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/file", .good(resource))
            let id = try await stream.add()
            try await stream.credit(id, 100_000)
            var heard = try await stream.hear(id, bytes: 100_000)
            try await stream.probe.call("task.pause", ["ids": [.integer(id)]])
            try await stream.credit(id)
            try await stream.probe.call("task.resume", ["ids": [.integer(id)]])
            heard = try await stream.hear(id, until: "task.completed", after: heard)
            #expect(Content(bytes: heard.bytes) == resource.content)
            #expect(stream.origin.requests("/file").map(\.rangeStart) == [nil, 100_000])
        }

        // MARK: Content codings

        private func packed(_ bytes: [UInt8], _ coding: String = "gzip") async throws -> Resource {
            Resource(Content(bytes: try await Packing.pack(bytes, coding)), etag: "\"1\"")
                .with("Content-Encoding", coding)
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["gzip", "gzip, br", "zstd"])
        func creditCountsDecodedBytes(coding: String) async throws {
            let stream = try await StreamScene()
            let plain = Packing.text(900_000)
            stream.origin.serve("/file", .good(try await packed(plain, coding)))
            let id = try await stream.add()
            try await stream.credit(id, 1000)
            var heard = try await stream.hear(id, bytes: 1000)
            #expect(heard.bytes.count == 1000)
            try await stream.credit(id)
            heard = try await stream.hear(id, until: "task.completed", after: heard)
            #expect(Content(bytes: heard.bytes) == Content(bytes: plain))
            #expect(heard.last["bytes"]?.integerValue == Int64(plain.count))
        }

        @Test(.timeLimit(.minutes(1)))
        func whoAsksForACodingGetsTheBodyInIt() async throws {
            let stream = try await StreamScene()
            let coded = try await packed(Packing.text(900_000))
            stream.origin.serve("/file", .good(coded, cutAfter: 10_000), .good(coded))
            let id = try await stream.add("/file", ["headers": [["Accept-Encoding", "gzip"]]])
            try await stream.credit(id)
            let heard = try await stream.hear(id, until: "task.completed")
            #expect(Content(bytes: heard.bytes) == coded.content)
            #expect(stream.origin.requests("/file").map { $0.request.header("Accept-Encoding") } == ["gzip", "gzip"])
        }

        @Test(.timeLimit(.minutes(1)))
        func aDecodedBodyThatBreaksIsOver() async throws {
            let stream = try await StreamScene()
            let coded = try await packed(Packing.text(900_000))
            stream.origin.serve("/cut", .good(coded, cutAfter: 100_000), .good(coded))
            // Complete by HTTP's rules, but without the end that gzip needs.
            let short = Resource(Content(bytes: Array(coded.content.bytes.dropLast(10)))).with(
                "Content-Encoding", "gzip")
            stream.origin.serve("/short", .good(short))
            for (path, code) in [("/cut", "network.lost"), ("/short", "integrity.length")] {
                let id = try await stream.add(path)
                try await stream.credit(id)
                let heard = try await stream.hear(id, until: "task.failed")
                #expect(heard.last.errorCode == code, "\(heard.last)")
                #expect(!heard.bytes.isEmpty && heard.bytes == Array(Packing.text(900_000)[..<heard.bytes.count]))
                #expect(heard.last["error", "message"]?.stringValue?.contains("coded") == true)
                #expect(stream.origin.requests(path).count == 1)
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func aBombEndsAtItsLimit() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/bomb", .good(try await packed([UInt8](repeating: 0, count: 64 << 20))))
            let id = try await stream.add("/bomb")
            try await stream.credit(id)
            let heard = try await stream.hear(id, until: "task.failed")
            #expect(heard.last.errorCode == "http.protocol")
            #expect(heard.bytes.count <= 14 << 20)
        }
    }
}
