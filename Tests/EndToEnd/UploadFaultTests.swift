import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading {
    /// Servers that break the rules of uploads in every phase. In the end, the server has the exact file and the task
    /// reports that, or the task reports what went wrong. Two versions are never mixed, and nothing continues forever.
    struct UploadFaultTests {
        private static let table: [(name: String, cases: [UploadFaultCase])] = [
            ("cuts", UploadFaultCase.cuts), ("offsets", UploadFaultCase.offsets),
            ("vanished", UploadFaultCase.vanished), ("statuses", UploadFaultCase.statuses),
            ("places", UploadFaultCase.places), ("fields", UploadFaultCase.fields), ("limits", UploadFaultCase.limits),
            ("ranges", UploadFaultCase.ranges), ("parts", UploadFaultCase.parts),
            ("redirects", UploadFaultCase.redirects),
        ]

        /// The servers that one daemon uses at a time.
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
