import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading {
    /// Servers that break the rules of uploads in every phase: in the end the server has the very file and the task says
    /// so, or the task says what went wrong; two versions are never mixed, and nothing goes on for ever.
    struct UploadFaultTests {
        private static let table: [(name: String, cases: [UploadFaultCase])] = [
            ("cuts", UploadFaultCase.cuts), ("offsets", UploadFaultCase.offsets),
            ("vanished", UploadFaultCase.vanished), ("statuses", UploadFaultCase.statuses),
            ("places", UploadFaultCase.places), ("fields", UploadFaultCase.fields), ("limits", UploadFaultCase.limits),
            ("ranges", UploadFaultCase.ranges), ("parts", UploadFaultCase.parts),
        ]

        /// Servers that the daemon meets at a time.
        private static let width = 8

        @Test(.timeLimit(.minutes(5)), arguments: UploadFaultSubject.all)
        func everyFaultEndsWell(_ subject: UploadFaultSubject) async throws {
            let scene = try await Scene()
            try Files.write(scene.file("small"), subject.content.bytes)
            try Files.write(scene.file("large"), subject.large.content.bytes)
            let cases = Self.table.flatMap(\.cases).filter { !$0.kind.isDisjoint(with: subject.kind) }
            #expect(cases.count > 10)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, fault) in cases.enumerated() {
                    if index >= Self.width { try await group.next() }
                    group.addTask {
                        try await UploadFaultRun(subject, fault, scene.daemon).perform {
                            scene.file($0.content.size == subject.content.size ? "small" : "large")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
