import TestSupport
import Testing
import TransferModel

/// One row of the transfer rules: the origin's answers after 400,000 bytes were received and the connection broke.
struct MisbehaviourRow: Sendable, CustomTestStringConvertible {
    static let size = 1 << 20
    static let held = 400_000
    static let resource = Resource.version(1, size: size)
    static let replaced = Resource.version(2, size: size)

    let testDescription: String
    let answers: [Behaviour]
    /// What must finally be delivered.
    var expected = resource
    /// The offsets of the requests after the first; nil for one without Range.
    var asks: [Int?]?

    init(_ name: String, _ answers: Behaviour..., expected: Resource = resource, asks: [Int?]? = nil) {
        testDescription = name
        self.answers = answers
        self.expected = expected
        self.asks = asks
    }

    static let all: [MisbehaviourRow] = {
        let good = Behaviour.good(resource)
        return [
            MisbehaviourRow("206 as asked", good, asks: [held]),
            MisbehaviourRow("206 from a later start", .wrongStart(resource), good, asks: [held, nil]),
            MisbehaviourRow("206 from an earlier start", .wrongStart(resource, shift: -1), good, asks: [held, nil]),
            MisbehaviourRow("206 with another total", .otherTotal(resource), good, asks: [held, nil]),
            MisbehaviourRow(
                "206 with another ETag", .otherETag(replaced), .good(replaced), expected: replaced, asks: [held, nil]),
            MisbehaviourRow("206 without Content-Range", .noContentRange(resource), good, asks: [held, nil]),
            MisbehaviourRow(
                "206 with junk for Content-Range", .badContentRange(resource, "bytes twelve"), good, asks: [held, nil]),
            MisbehaviourRow(
                "206 with another unit", .badContentRange(resource, "items \(held)-9999999/99999999"), good,
                asks: [held, nil]),
            MisbehaviourRow(
                "206 with an end before its start", .badContentRange(resource, "bytes \(held)-3/\(size)"), good,
                asks: [held, nil]),
            MisbehaviourRow("206 with multipart/byteranges", .multipart(resource), good, asks: [held, nil]),
            MisbehaviourRow(
                "206 that is short", .shortPart(resource, length: 1000), good, asks: [held, held + 1000]),
            MisbehaviourRow("200 with a matching Content-Range", .wholeWithContentRange(replaced), expected: replaced),
            MisbehaviourRow("200, version replaced", .good(replaced), expected: replaced, asks: [held]),
            MisbehaviourRow(
                "200 to If-Range, same version", .wholeToIfRange(resource), asks: [held, held]),
            MisbehaviourRow("200 to every range", .ignoringRange(resource)),
            MisbehaviourRow("416 without a total", .neverSatisfiable(resource, total: nil), asks: [held, nil]),
            MisbehaviourRow(
                "416 with another total", .neverSatisfiable(resource, total: "17"), asks: [held, nil]),
            MisbehaviourRow(
                "416 with the held bytes as total", .neverSatisfiable(replaced, total: "\(held)"),
                expected: replaced, asks: [held, held - 1, nil]),
            MisbehaviourRow("206 cut again", .good(resource, cutAfter: 100_000), good, asks: [held, held + 100_000]),
            MisbehaviourRow(
                "chunked without the last chunk", .chunked(resource, isEnded: false, length: 65_536), good,
                asks: [held, held + 65_536]),
            MisbehaviourRow("chunked and whole", .chunked(resource, isEnded: true), asks: [held]),
            MisbehaviourRow("chunked, more than announced", .overrun(resource, extra: 100_000), good),
            MisbehaviourRow("chunked, endless", .overrun(resource, extra: 256 << 20), good),
            MisbehaviourRow("closed without an answer", .hangUp, good, asks: [held, held]),
            MisbehaviourRow("reset", .reset, good, asks: [held, held]),
            MisbehaviourRow("silent after some bytes", .stalling(resource, after: 5000), good),
            MisbehaviourRow("silent from the start", .silent, good, asks: [held, held]),
            MisbehaviourRow("500", .status(500), good, asks: [held, held]),
            MisbehaviourRow("503 with Retry-After", .status(503, [("Retry-After", "1")]), good, asks: [held, held]),
            MisbehaviourRow("429", .status(429), good, asks: [held, held]),
            MisbehaviourRow(
                "206 of another version without a validator", .unproven(replaced), .good(replaced), expected: replaced,
                asks: [held, nil]),
            MisbehaviourRow("200 with the slice alone", .sliceUnder200(resource), asks: [held]),
            MisbehaviourRow(
                "200 with the slice of another version", .sliceUnder200(replaced), .good(replaced), expected: replaced,
                asks: [held, nil]),
            MisbehaviourRow(
                "an error in JSON under 200", text("application/json"), text("application/json"), good,
                asks: [held, held, held]),
            MisbehaviourRow("an error as text under 200", text("text/plain"), good, asks: [held, held]),
            MisbehaviourRow("202", .status(202, body: "soon"), good, asks: [held, held]),
            MisbehaviourRow("423", .status(423), good, asks: [held, held]),
            MisbehaviourRow("403 for a time", .status(403, [("Retry-After", "1")]), good, asks: [held, held]),
        ] + [509, 525, 529, 530, 598, 599].map { MisbehaviourRow("\($0)", .status($0), good, asks: [held, held]) }
            + [400, 403, 405, 406, 501].map { status in
                MisbehaviourRow("\(status) to a Range", .refusingRanges(resource, status), asks: [held, nil])
            }
    }()

    private static func text(_ type: String) -> Behaviour {
        .status(200, [("Content-Type", type)], body: "{\"error\": \"try again\"}")
    }
}

extension EndToEnd.Downloading {
    @Suite(.oneDaemon) struct Misbehaviour {
        /// aria2, wget2 and curl deliver corrupt files for several of these rows.
        @Test(.timeLimit(.minutes(1)), arguments: MisbehaviourRow.all)
        func noWrongFileIsDeliveredAndTheRightOneIsInTheEnd(row: MisbehaviourRow) async throws {
            let scene = try await Scene.shared()
            let first = Behaviour.good(MisbehaviourRow.resource, cutAfter: MisbehaviourRow.held)
            scene.origin.script("/file", [first] + row.answers)
            let id = try await scene.add("/file", to: "file", ["timeoutIntervalForRequest": 1])
            let task = try await scene.probe.wait(for: id, "completed", within: 45)
            #expect(row.expected.content.matches(scene.file()))
            #expect(scene.names == ["file"])
            #expect(task["bytesReceived"]?.integerValue == Int64(row.expected.content.size))
            if let asks = row.asks {
                #expect(scene.origin.requests("/file").dropFirst().map(\.rangeStart) == asks)
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func twoDifferentLengthsBreakTheProtocol() async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: 100_000)
            scene.origin.serve("/file", .twoLengths(resource, other: 99_000), .good(resource))
            let id = try await scene.add()
            let task = try await scene.probe.wait(for: id, "failed", "waiting", "completed")
            if task["state"] != "completed" {
                #expect(task.errorCode == "http.protocol")
                #expect(!scene.names.contains("file"))
                try await scene.probe.control("retry", id)
                try await scene.probe.wait(for: id, "completed")
            }
            #expect(scene.origin.requests("/file").count > 1)
            #expect(resource.content.matches(scene.file()))
        }

        @Test(.timeLimit(.minutes(1)))
        func aBodyThatOnlyTheCloseEndsIsUnverified() async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: 300_000)
            scene.origin.serve("/file", .closeDelimited(resource))
            let task = try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(task["verified"] == false)
        }

        @Test(.timeLimit(.minutes(1)))
        func aCodedBodyIsDecodedAtTheEndUnlessItsNameSaysTheCoding() async throws {
            let scene = try await Scene.shared()
            let plain = Content("hello hello hello")
            let coded: [UInt8] = [
                0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x90, 0, 0x80, 0x88,
                0xf9, 0xe5, 0x11, 0, 0, 0,
            ]
            let resource = Resource(Content(bytes: coded), etag: "\"coded\"")
            scene.origin.serve("/page", .coded(resource, "gzip"))
            scene.origin.serve("/x.tar.gz", .coded(resource, "gzip"))
            let page = try await scene.add("/page", to: "page")
            let archive = try await scene.add("/x.tar.gz", to: "x.tar.gz")
            try await scene.probe.wait(for: page, "completed")
            try await scene.probe.wait(for: archive, "completed")
            #expect(plain.matches(scene.file("page")))
            #expect(resource.content.matches(scene.file("x.tar.gz")))
            #expect(scene.origin.requests("/page").first?.header("Accept-Encoding") == "identity")
        }

        /// A coded file never has a plain name, whether the user or the server names it.
        @Test(.timeLimit(.minutes(1)))
        func whatCannotBeDecodedHasANameThatSaysSo() async throws {
            let scene = try await Scene.shared()
            let coded = Resource(Content(seed: 9, size: 300_000), etag: "\"coded\"")
            let small = Resource(Content(seed: 8, size: 300), etag: "\"small\"")
            let folder: JSONValue = ["directory": .string(scene.folder.path)]
            for (resource, size) in [(coded, "large"), (small, "small")] {
                for (coding, ending) in [("compress", "Z"), ("lz4", "lz4"), ("gzip, lz4", "gz.lz4")] {
                    let path = "/\(size)-\(ending).html"
                    scene.origin.serve(path, .coded(resource, coding))
                    let named = try await scene.add(path, to: "\(size)-\(ending)-named.html")
                    let task = try await scene.probe.wait(for: named, "completed")
                    let place = scene.file("\(size)-\(ending)-named.html.\(ending)")
                    #expect(task["file"] == .string(place))
                    #expect(resource.content.matches(place))
                    let unnamed = try await scene.probe.add([
                        ["url": .string(scene.origin.url(path)), "destination": folder]
                    ])[0]
                    try await scene.probe.wait(for: unnamed, "completed")
                    #expect(resource.content.matches(scene.file(path.dropFirst() + ".\(ending)")))
                }
            }
            #expect(scene.names.count == 12)
        }

        @Test(.timeLimit(.minutes(1)))
        func whatWasPackedTwiceIsUnpackedTwice() async throws {
            let scene = try await Scene.shared()
            let plain = MisbehaviourRow.resource.content
            let once = try await gzipped(plain)
            scene.origin.serve("/page", .coded(Resource(try await gzipped(once), etag: "\"a\""), "gzip, gzip"))
            scene.origin.serve("/x.gz", .coded(Resource(try await gzipped(once), etag: "\"b\""), "gzip, gzip"))
            let page = try await scene.add("/page", to: "page")
            let archive = try await scene.add("/x.gz", to: "x.gz")
            try await scene.probe.wait(for: page, "completed")
            try await scene.probe.wait(for: archive, "completed")
            #expect(plain.matches(scene.file("page")))
            #expect(once.matches(scene.file("x.gz")))
            #expect(scene.names.sorted() == ["page", "x.gz"])
        }

        /// Bytes that a server sends beyond the end of an answer do not harm the next task.
        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func bytesBeyondALengthCostTheNextTaskNothing(areLate: Bool) async throws {
            let scene = try await Scene()
            try await scene.probe.call("settings.set", ["maximumConcurrentTasks": 1])
            let content = Content(seed: 3, size: 100_000)
            let extra = Array("the rest of something else".utf8)
            scene.origin.serveEverything(
                Behaviour { request, reply in
                    // Late: they come on the connection when it is reused.
                    if areLate, request.connection == 1, request.path != "/1" { try reply.raw(extra[...]) }
                    try reply.head(200, "OK", [("Content-Length", "\(content.size)")])
                    try reply.body(content.bytes[...])
                    if !areLate { try reply.raw(extra[...]) }
                })
            for number in 1...5 {
                let id = try await scene.add("/\(number)", to: "\(number)")
                let task = try await scene.probe.wait(for: id, "completed")
                #expect(task["attempts"] == 1)
                #expect(content.matches(scene.file("\(number)")))
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func aCodedBodyIsResumedInItsCoding() async throws {
            let scene = try await Scene.shared()
            let plain = MisbehaviourRow.resource.content
            let coded = Resource(try await gzipped(plain), etag: "\"coded\"")
            let half = coded.content.size / 2
            scene.origin.serve("/file", .coded(coded, "gzip", cutAfter: half), .coded(coded, "gzip"))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(plain.matches(scene.file()))
            #expect(scene.names == ["file"])
            #expect(scene.origin.requests("/file").map(\.rangeStart) == [nil, half])
        }

        @Test(.timeLimit(.minutes(1)))
        func aPartInAnotherCodingThanWhatIsHeldStartsOver() async throws {
            let scene = try await Scene.shared()
            let plain = MisbehaviourRow.resource
            let coded = Resource(try await gzipped(plain.content), etag: plain.etag)
            scene.origin.serve(
                "/file", .good(plain, cutAfter: MisbehaviourRow.held), .coded(coded, "gzip"), .good(plain))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(plain.content.matches(scene.file()))
            #expect(scene.names == ["file"])
        }

        private func gzipped(_ content: Content) async throws -> Content {
            Content(bytes: try await Packing.pack(content.bytes, "gzip"))
        }

        @Test(.timeLimit(.minutes(1)))
        func permanentErrorsFailAtOnceAndARetryCompletes() async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: 1000)
            scene.origin.serve("/file", .status(404), .good(resource))
            let id = try await scene.add()
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "http.status")
            #expect(task["error", "details", "status"] == 404)
            #expect(scene.names.isEmpty)
            #expect(try await scene.probe.control("retry", id))
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
        }

        @Test(.timeLimit(.minutes(1)))
        func retryAfterIsHonouredAndRetryMeansNow() async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: 1000)
            scene.origin.serve("/file", .status(503, [("Retry-After", "3600")]), .good(resource))
            let id = try await scene.add()
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task["reason"] == "retry")
            let next = try #require(task["nextAttemptAt"]?.stringValue.flatMap { Timestamp($0) })
            let wait = next.since(.now()).rawValue
            #expect((3000...3601).contains(wait))
            #expect(try await scene.probe.control("retry", id))
            try await scene.probe.wait(for: id, "completed")
        }
    }
}
