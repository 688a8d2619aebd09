import Glibc
import TestSupport
import Testing
import TransferModel

@testable import DaemonKit

struct PipedProcessTests {
    private func run(
        _ script: String, _ text: String = "", patience: Duration = .seconds(30)
    ) throws -> (bytes: [UInt8], status: Int32)? {
        try PipedProcess(
            ["/bin/sh", "-c", script], given: Array(text.utf8), environment: ["PATH": "/usr/bin:/bin", "A": "b"]
        ).answer(atMost: 1000, until: .now + patience)
    }

    @Test func aTextGoesInAndAnAnswerComesOut() throws {
        let answer = try #require(try run("cat; echo $A; echo lost >&2; exit 3", "text\n"))
        #expect(String(decoding: answer.bytes, as: UTF8.self) == "text\nb\n" && answer.status == 3)
    }

    @Test func whoSaysTooMuchIsEnded() throws {
        #expect(try run("yes") == nil)
    }

    /// It has ended by itself, and the processes that it left in its group are ended.
    @Test(.timeLimit(.minutes(1))) func whoSaysTooMuchLeavesNothingBehind() async throws {
        let folder = try TemporaryFolder()
        let script = "sleep 1000 & echo $! > \(folder.file("pid")); head -c 2000 /dev/zero"
        #expect(try run(script) == nil)
        let pid = try #require(pid_t(try Files.text(folder.file("pid")).dropLast()))
        #expect(await eventually { ProcessTable.identity(of: pid).map { !ProcessTable.isRunning($0) } ?? true })
    }

    /// Everything that it started in its group ends too.
    @Test(.timeLimit(.minutes(1))) func whoTakesTooLongIsEnded() async throws {
        let folder = try TemporaryFolder()
        let script = "sleep 1000 & echo $! > \(folder.file("pid")); echo done > \(folder.file("ready")); wait"
        let process = try PipedProcess(["/bin/sh", "-c", script], given: [], environment: ["PATH": "/usr/bin:/bin"])
        #expect(await eventually { (try? Files.text(folder.file("ready"))) == "done\n" })
        let pid = try #require(pid_t(try Files.text(folder.file("pid")).dropLast()))
        #expect(process.answer(atMost: 1000, until: .now) == nil)
        // It is gone, or waits to be reaped by the process that inherited it.
        #expect(await eventually { ProcessTable.identity(of: pid).map { !ProcessTable.isRunning($0) } ?? true })
    }
}
