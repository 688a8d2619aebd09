import Testing
import TransferModel

@testable import TransferCore

struct SpecRulesKindsTests {
    private static let ofDownloads: [(String, @Sendable (inout TaskSpec) -> Void)] = [
        ("destination", { $0.destination = Destination(directory: "/d") }),
        ("conflictPolicy", { $0.conflictPolicy = .fail }),
        ("checksum", { $0.checksum = Checksum(algorithm: .md5, value: String(repeating: "a", count: 32)) }),
        ("size", { $0.size = 1 }), ("connections", { $0.connections = 2 }),
        ("preserveTime", { $0.preserveTime = true }),
        ("durability", { $0.durability = .relaxed }),
    ]

    private func refused(_ kind: TaskKind, _ change: (inout TaskSpec) -> Void) -> String? {
        var spec = TaskSpec()
        spec.kind = kind
        spec.url = "https://example.org/f"
        if kind == .upload { spec.source = SourceFile(path: "/f") }
        return refusal(of: spec, change)?.details["field"]?.stringValue
    }

    @Test func whatIsForDownloadsIsRefusedElsewhere() {
        for (field, change) in Self.ofDownloads {
            #expect(refused(.download, change) == nil, "\(field)")
            #expect(refused(.data, change) == "tasks[3].\(field)")
            #expect(refused(.upload, change) == "tasks[3].\(field)")
        }
    }

    @Test(arguments: [
        ("uploadMetadata", "tus"), ("interopVersion", "resumable"), ("uploadCreation", "resumable"),
    ])
    func whatOneProtocolHasIsRefusedWithOthers(_ field: String, _ name: String) {
        func refused(_ uploadProtocol: String?) -> String? {
            self.refused(.upload) { spec in
                spec.uploadProtocol = uploadProtocol
                switch field {
                case "uploadMetadata": spec.uploadMetadata = ["a": "b"]
                case "interopVersion": spec.interopVersion = 6
                default: spec.uploadCreation = "careful"
                }
            }
        }
        #expect(refused(name) == nil && refused(nil) == nil && refused("auto") == nil)
        for other in ["put", "post", "multipart"] { #expect(refused(other) == "tasks[3].\(field)") }
    }

    /// A setting of a session applies to those of its tasks that it fits.
    @Test func defaultsOfSessionsAreForNoKind() {
        var session = SessionConfiguration()
        (session.conflictPolicy, session.connectionsPerDownload, session.durability) = (.fail, 4, .relaxed)
        let given = session
        #expect(throws: Never.self) { try SpecRules(path: "").check(given) }
    }
}
