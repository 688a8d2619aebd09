import Foundation
import TestSupport
import Testing

extension EndToEnd.Simulating {
    /// The promises under the short form of `make torture`: docs/reliability.md.
    @Suite(.enabled(if: Requirements.has("python3", "gcc", "openssl"), "the harness is Python, what it preloads is C"))
    struct Torture {
        private static let harness: String = {
            var folder = URL(fileURLWithPath: #filePath)
            for _ in 0..<2 { folder.deleteLastPathComponent() }
            return folder.appendingPathComponent("Torture/run").path
        }()

        /// A few of the cases, the same ones every time. Every planted defect is noticed.
        @Test(.timeLimit(.minutes(5)))
        func aFewDeathsLoseNothing() async throws {
            let folder = try TemporaryFolder()
            let (status, output) = try await Program.run(
                [
                    "python3", Self.harness, "--short", "--seed", "7", "--workers", "2",
                    "--dld", try Binaries.path("dld"), "--work", folder.path,
                ], limit: 280)
            let lines = output.split(separator: "\n")
            let told = lines.filter { $0.hasPrefix("FAILED") || $0.hasSuffix("NOT CAUGHT") } + lines.suffix(1)
            // In the condition itself, because often only the first line of a failure in a long log is read.
            #expect((status == 0 ? [] : told.map { $0.prefix(200) }).isEmpty, "\(output.suffix(6000))")
        }
    }
}
