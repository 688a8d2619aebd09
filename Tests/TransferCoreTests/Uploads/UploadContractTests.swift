import Testing
import TransferModel

@testable import TransferCore

/// What every upload protocol must do: the server has the right content, or the failure says why.
struct UploadContractTests {
    struct Subject: Sendable, CustomTestStringConvertible {
        var name: String
        var dialect: ScriptedUploadServer.Dialect
        var url = "https://example.org/files"
        var version: Int?
        /// Whether the upload resumes at the server's offset.
        var canResume = true
        /// Whether the upload may be repeated if its answer was lost.
        var canRepeat = true
        var testDescription: String { name + (version.map { " \($0)" } ?? "") }
    }

    static let content = Array("The quick brown fox jumps over the lazy dog".utf8)
    static let subjects: [Subject] =
        [
            Subject(name: "put", dialect: .plain, canResume: false),
            Subject(name: "post", dialect: .plain, canResume: false, canRepeat: false),
            Subject(name: "tus", dialect: .tus), Subject(name: "contentRange", dialect: .contentRange),
            Subject(name: "s3Multipart", dialect: .s3),
            Subject(name: "ftp", dialect: .file, url: "ftp://example.org/pub/f"),
            Subject(name: "sftp", dialect: .file, url: "sftp://example.org/pub/f"),
        ] + ResumableFields.versions.map { Subject(name: "resumable", dialect: .resumable, version: $0) }

    static func prepare(_ subject: Subject, modified: Int64 = 1) -> StrategyRequest {
        var prepared = request(subject.url) { spec in
            spec.kind = .upload
            spec.source = SourceFile(path: "/home/u/fox.txt")
            if subject.dialect != .file { spec.uploadProtocol = subject.name }
            spec.interopVersion = subject.version
            if subject.dialect == .s3 {
                spec.s3 = S3Upload(
                    partURLs: (1...9).map { "https://s3.example.org/b/k?partNumber=\($0)" }, partSize: 10,
                    completeURL: "https://s3.example.org/b/k?uploadId=1")
            }
        }
        prepared.source = SourceIdentity(
            device: 1, inode: 2, size: ByteCount(Int64(content.count)), modified: modified)
        return prepared
    }

    private static func run(
        _ subject: Subject, _ server: inout ScriptedUploadServer, stored: UploadProgress? = nil
    ) throws -> ScriptedUpload {
        try ScriptedUpload.run(prepare(subject), &server, source: content, stored: stored)
    }

    /// The exchanges of an undisturbed upload.
    private static func exchanges(_ subject: Subject) throws -> [Exchange] {
        var server = ScriptedUploadServer(subject.dialect)
        _ = try run(subject, &server)
        return server.exchanges
    }

    @Test(arguments: subjects)
    func sendsTheWholeOnce(_ subject: Subject) throws {
        var server = ScriptedUploadServer(subject.dialect)
        let attempt = try Self.run(subject, &server)
        #expect(server.content == Self.content)
        #expect(attempt.result?.total == ByteCount(Int64(Self.content.count)))
        #expect(attempt.restarts.isEmpty)
        #expect(server.created <= 1)
        let sent = server.exchanges.map(\.payload.sourceLength).reduce(0, +)
        #expect(sent == ByteCount(Int64(Self.content.count)))
    }

    @Test(arguments: subjects)
    func sendsAnEmptyFile(_ subject: Subject) throws {
        var server = ScriptedUploadServer(subject.dialect)
        var request = Self.prepare(subject)
        request.source?.size = 0
        let attempt = try ScriptedUpload.run(request, &server, source: [])
        #expect(attempt.result?.total == 0)
        #expect(server.content ?? [] == [])
        #expect(server.exchanges.allSatisfy { $0.payload.sourceLength == 0 })
    }

    @Test(arguments: subjects)
    func storesBeforeItSends(_ subject: Subject) throws {
        var server = ScriptedUploadServer(subject.dialect)
        let attempt = try Self.run(subject, &server)
        // A PUT of the entire file stores nothing, because it always starts over.
        #expect(attempt.sentBeforeStored == (subject.name == "put"))
    }

    @Test(arguments: subjects)
    func continuesAtEachCutPoint(_ subject: Subject) throws {
        let plan = try Self.exchanges(subject)
        for (index, exchange) in plan.enumerated() where exchange.payload.sourceLength > 0 {
            for cut in 0..<Int(exchange.payload.sourceLength.rawValue) {
                for fault in [ScriptedUploadServer.Fault.cut(after: cut), .aborted(after: cut), .killed(after: cut)] {
                    try continues(subject, after: fault, at: index)
                }
            }
        }
    }

    private func continues(_ subject: Subject, after fault: ScriptedUploadServer.Fault, at index: Int) throws {
        var server = ScriptedUploadServer(subject.dialect)
        server.faults = Array(repeating: nil, count: index) + [fault]
        let first = try Self.run(subject, &server)
        #expect(first.result == nil)
        if case .cut = fault { #expect(first.failure?.disposition == .transient(after: nil)) }
        let second = try Self.run(subject, &server, stored: first.stored)
        if case .killed = fault, !subject.canRepeat {
            // Nobody knows whether the server acted on the request.
            #expect(second.failure?.disposition == .permanent)
            return
        }
        #expect(second.result != nil, "\(fault) in exchange \(index)")
        #expect(server.content == Self.content)
        #expect(server.created <= 1)
        if subject.canResume, subject.dialect != .s3 {
            #expect(server.exchanges.map(\.payload).filter { $0.sourceLength > 0 }.count <= 2)
            #expect(server.bytesArrived == Self.content.count)
        }
    }

    @Test(arguments: subjects)
    func survivesALostAnswerOfEachExchange(_ subject: Subject) throws {
        for index in try Self.exchanges(subject).indices {
            var server = ScriptedUploadServer(subject.dialect)
            server.faults = Array(repeating: nil, count: index) + [.lostAnswer]
            let first = try Self.run(subject, &server)
            guard subject.canRepeat else {
                #expect(first.failure?.disposition == .permanent)
                #expect(server.completions == 1)
                continue
            }
            if first.result == nil {
                let second = try Self.run(subject, &server, stored: first.stored)
                #expect(second.result != nil)
            }
            #expect(server.content == Self.content, "answer \(index) lost")
            #expect(server.created <= 2)
        }
    }

    @Test(arguments: subjects)
    func aRefusedConnectionIsTriedAgain(_ subject: Subject) throws {
        for index in try Self.exchanges(subject).indices {
            var server = ScriptedUploadServer(subject.dialect)
            server.faults = Array(repeating: nil, count: index) + [.refused]
            let first = try Self.run(subject, &server)
            #expect(first.failure?.disposition == .transient(after: nil))
            _ = try Self.run(subject, &server, stored: first.stored)
            #expect(server.content == Self.content)
        }
    }

    @Test(arguments: subjects)
    func a503WaitsAndGoesOn(_ subject: Subject) throws {
        guard subject.dialect != .file else { return }
        for index in try Self.exchanges(subject).indices {
            var server = ScriptedUploadServer(subject.dialect)
            server.faults = Array(repeating: nil, count: index) + [.status(503)]
            let first = try Self.run(subject, &server)
            #expect(first.failure?.disposition == .transient(after: nil))
            #expect(first.failure?.error.details["status"] == 503)
            _ = try Self.run(subject, &server, stored: first.stored)
            #expect(server.content == Self.content)
        }
    }

    @Test(arguments: subjects)
    func a403EndsIt(_ subject: Subject) throws {
        guard subject.dialect != .file else { return }
        for index in try Self.exchanges(subject).indices {
            var server = ScriptedUploadServer(subject.dialect)
            server.faults = Array(repeating: nil, count: index) + [.status(403)]
            let attempt = try Self.run(subject, &server)
            #expect(attempt.failure?.disposition == .permanent)
            #expect(attempt.failure?.error.code == .httpStatus)
        }
    }

    @Test(arguments: subjects)
    func neverMixesTwoFiles(_ subject: Subject) throws {
        var server = ScriptedUploadServer(subject.dialect)
        let payloads = try Self.exchanges(subject)
        let index = try #require(payloads.firstIndex { $0.payload.sourceLength > 0 })
        server.faults = Array(repeating: nil, count: index) + [.cut(after: 5)]
        let first = try Self.run(subject, &server)
        var changed = Self.prepare(subject, modified: 2)
        changed.upload = first.stored
        guard first.stored != nil else { return }
        let error = #expect(throws: TransferError.self) { try StrategyRegistry.upload(for: changed) }
        #expect(error?.code == .sourceChanged)
    }

    @Test(arguments: subjects)
    func beginsAnewWhereTheUploadIsGone(_ subject: Subject) throws {
        guard [.tus, .resumable, .contentRange].contains(subject.dialect) else { return }
        for faults in [[nil, .gone], [nil, .cut(after: 7), .gone]] as [[ScriptedUploadServer.Fault?]] {
            var server = ScriptedUploadServer(subject.dialect)
            server.faults = faults
            var attempt = try Self.run(subject, &server)
            var restarts = attempt.restarts
            if attempt.result == nil {
                attempt = try Self.run(subject, &server, stored: attempt.stored)
                restarts += attempt.restarts
            }
            #expect(attempt.result != nil)
            #expect(restarts.count == 1)
            #expect(server.content == Self.content)
            #expect(server.created == 2)
        }
    }

    @Test(arguments: subjects)
    func theServersOffsetCountsWhereItIsBehind(_ subject: Subject) throws {
        guard subject.canResume, subject.dialect != .s3 else { return }
        let plan = try Self.exchanges(subject)
        let index = try #require(plan.firstIndex { $0.payload.sourceLength > 0 })
        for lost in 1...20 {
            var server = ScriptedUploadServer(subject.dialect)
            server.faults = Array(repeating: nil, count: index) + [.cut(after: 30)]
            let first = try Self.run(subject, &server)
            // The server forgets bytes that it confirmed before the next attempt asks.
            server.faults = [.forgets(lost)]
            var attempt = try Self.run(subject, &server, stored: first.stored)
            if attempt.result == nil { attempt = try Self.run(subject, &server, stored: attempt.stored) }
            #expect(attempt.result != nil)
            #expect(server.content == Self.content)
        }
    }

    @Test(arguments: subjects)
    func survivesManyFaults(_ subject: Subject) throws {
        var generator = SeededGenerator(state: 11)
        for _ in 0..<60 {
            var (server, stored, done) = (ScriptedUploadServer(subject.dialect), UploadProgress?.none, false)
            server.longestAppend = [nil, 5, 16].randomElement(using: &generator) ?? nil
            for _ in 0..<40 where !done {
                let count = Int.random(in: 0...9, using: &generator)
                let pool: [ScriptedUploadServer.Fault] = [
                    .cut(after: count), .lostAnswer, .refused, .aborted(after: count), .killed(after: count), .gone,
                ]
                let usable = pool.filter { $0 != .gone || subject.canResume }
                server.faults = (0..<4).map { _ in
                    Int.random(in: 0..<3, using: &generator) == 0 ? usable.randomElement(using: &generator) : nil
                }
                let attempt = try Self.run(subject, &server, stored: stored)
                stored = attempt.stored
                done = attempt.result != nil || attempt.failure?.disposition == .permanent
                if attempt.result != nil { #expect(server.content == Self.content) }
                if attempt.failure?.disposition == .permanent { #expect(!subject.canRepeat) }
            }
            guard !done else { continue }
            server.faults = []
            let last = try Self.run(subject, &server, stored: stored)
            #expect(last.result != nil || !subject.canRepeat)
        }
    }
}
