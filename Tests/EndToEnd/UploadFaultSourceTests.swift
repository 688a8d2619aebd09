import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading {
    /// Sources that change while they are uploaded, in every protocol: the server gets one version or a beginning of
    /// it.
    struct UploadFaultSourceTests {
        /// Tests each change with its own source and server, all with one daemon.
        private func each(
            of changes: [SourceChange], _ subject: UploadFaultSubject, _ script: [UploadFault],
            _ body: @escaping @Sendable (SourceChange, UploadServer, RPCProbe, String) async throws -> Void
        ) async throws {
            let scene = try await Scene()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for change in changes {
                    let source = scene.file("source-\(change.rawValue)")
                    try Files.write(source, subject.content.bytes)
                    group.addTask {
                        let server = try UploadServer(subject.rules, script)
                        try await body(change, server, try await scene.daemon.probe(), source)
                    }
                }
                try await group.waitForAll()
            }
        }

        @Test(.timeLimit(.minutes(1)), arguments: UploadFaultSubject.all)
        func nothingOfAnotherVersionIsSentByTheNextAttempt(_ subject: UploadFaultSubject) async throws {
            // If the protocol has parts, one part is there. Then the server asks for a pause.
            let isWhole = subject.kind.isSubset(of: .plain)
            let rest = UploadFault.Act.answer(503, [("Retry-After", "2000")])
            let script: [UploadFault] =
                isWhole ? [.on(.append, rest)] : [.on(.append, .keep(200_000)), .on(.append, 2, rest)]
            try await each(of: SourceChange.allCases, subject, script) {
                change, server, probe, source in
                let name: Comment = "\(subject.testDescription), \(change.rawValue)"
                let id = try await probe.add([subject.spec(server, source: source)])[0]
                try await probe.wait(for: id, "waiting")
                let requests = server.requests().count
                try change.happen(to: source)
                #expect(try await probe.control("retry", id), name)
                let task = try await probe.wait(for: id, "failed")
                #expect(task.errorCode == change.code, name)
                #expect(server.requests().count == requests, name)
                subject.expectNoMixture(server, name)
                #expect(server.files.all.values.allSatisfy { !$0.isComplete || subject.kind == .s3 }, name)
            }
        }

        /// Lets the upload begin, changes its source while the server does not read, and lets the upload continue.
        @Sendable private func change(
            _ change: SourceChange, _ subject: UploadFaultSubject, _ server: UploadServer, _ probe: RPCProbe,
            _ source: String
        ) async throws -> Int64 {
            server.hold(.body(100_000))
            let id = try await probe.add([subject.spec(server, source: source)])[0]
            #expect(await eventually { server.received >= 100_000 })
            try change.happen(to: source)
            server.release()
            return id
        }

        @Test(.timeLimit(.minutes(1)), arguments: UploadFaultSubject.all)
        func anAttemptStopsAtTheChange(_ subject: UploadFaultSubject) async throws {
            let subject = subject.large
            let changes = SourceChange.allCases.filter { $0 != .replaced && $0 != .removed }
            try await each(of: changes, subject, []) { change, server, probe, source in
                let name: Comment = "\(subject.testDescription), \(change.rawValue)"
                let id = try await self.change(change, subject, server, probe, source)
                let task = try await probe.wait(for: id, "failed")
                #expect(task.errorCode == "source.changed", name)
                expectOld(server, subject, isWhole: false, name)
            }
        }

        @Test(.timeLimit(.minutes(1)), arguments: UploadFaultSubject.all)
        func anAttemptEndsWithTheVersionThatItOpened(_ subject: UploadFaultSubject) async throws {
            let subject = subject.large
            try await each(of: [.replaced, .removed], subject, []) { change, server, probe, source in
                let name: Comment = "\(subject.testDescription), \(change.rawValue)"
                let id = try await self.change(change, subject, server, probe, source)
                try await probe.wait(for: id, "completed")
                expectOld(server, subject, isWhole: true, name)
            }
        }

        /// The server has the old version, or a beginning of it.
        @Sendable private func expectOld(
            _ server: UploadServer, _ subject: UploadFaultSubject, isWhole: Bool, _ name: Comment
        ) {
            subject.expectNoMixture(server, name)
            let size = subject.content.size
            for (path, entry) in server.files.all where entry.isComplete && !path.hasPrefix("/part/") {
                #expect(entry.bytes.count >= size, name)
            }
            #expect(server.files.all.values.contains { $0.isComplete && $0.bytes.count >= size } == isWhole, name)
        }
    }
}
