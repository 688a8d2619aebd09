import FileKit
import Glibc
import Logging
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine
@testable import DaemonKit

struct HelperPoolTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A helper has the part file and never sends a hello. No other process gets the part file before the helper is
    /// gone.
    @Test(.timeLimit(.minutes(1))) func anEndWaitsForTheProcessThatHasThePart() async throws {
        let (schemes, started) = (folder.file("schemes"), folder.file("started"))
        try #require(mkdir(schemes, 0o755) == 0)
        try await Files.program(
            schemes + "/demo",
            """
            #!/bin/sh
            if [ -e /proc/$$/fd/3 ]; then
                echo $$ > \(started).new && mv \(started).new \(started)
            else
                echo '{"type":"hello","version":1,"resume":true,"upload":false,"many":false}'
            fi
            while read line; do :; done

            """)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let pool = HelperPool(
            folders: HelperFolders(isSystem: false, folders: [schemes]), environment: ["PATH": "/usr/bin:/bin"],
            patience: HelperPatience(hello: 60_000), logger: logger, quiet: logger)
        let part = try PartFile.create(path: folder.file("part"))
        let call = HelperCall(
            scheme: "demo", owner: UserID(geteuid()), task: TaskID(1), patience: 60_000,
            order: HelperOrder(Exchange(url: "demo://x", judge: CaptureJudge())), part: part, payload: .none,
            source: nil)
        let conversation = pool.begin(call) { _ in }
        #expect(await eventually { Files.exists(started) })
        let pid = try #require(pid_t(try Files.text(started).dropLast()))
        let isGone = await withCheckedContinuation { continuation in
            conversation.end { continuation.resume(returning: kill(pid, 0) != 0 && errno == ESRCH) }
        }
        #expect(isGone)
    }
}
