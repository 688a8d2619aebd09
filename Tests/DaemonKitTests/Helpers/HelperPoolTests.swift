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

    // MARK: Memory files

    /// What a transfer gets of a task without a file.
    private final class Taker: Sendable {
        private let state = Guarded<(events: [HelperEvent], bytes: Int)>(([], 0))
        var bytes: Int { state.withLock { $0.bytes } }
        var untaken: [HelperEvent] {
            state.withLock { state in
                defer { state.events = [] }
                return state.events
            }
        }
        var error: TransferError? {
            state.withLock { $0.events }.compactMap { if case .failed(let error, _) = $0 { error } else { nil } }.first
        }
        func take(_ event: HelperEvent) {
            state.withLock { state in
                state.events.append(event)
                if case .data(let bytes) = event { state.bytes += bytes.count }
            }
        }
    }

    /// Asks a helper that does `work` after its response. It notes its pid in the file `pid`.
    private func ask(_ work: String, _ taker: Taker) async throws -> any HelperConversation {
        let schemes = folder.file("schemes")
        try #require(mkdir(schemes, 0o755) == 0)
        try await Files.program(
            schemes + "/demo",
            """
            #!/usr/bin/env python3
            import json, os, sys
            def say(kind, **members): print(json.dumps({"type": kind, **members}), flush=True)
            def put(text):
                with open("\(folder.path)/new", "w") as file: file.write(text + "\\n")
                os.rename("\(folder.path)/new", "\(folder.path)/note")
            block = b"x" * (1 << 20)
            say("hello", version=1, resume=True, upload=False, many=False)
            order = json.loads(sys.stdin.readline())
            put(str(os.getpid()))
            say("response", id=1, offset=0, length=None)
            \(work)

            """)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let pool = HelperPool(
            folders: HelperFolders(isSystem: false, folders: [schemes]), environment: ["PATH": "/usr/bin:/bin"],
            patience: HelperPatience(hello: 60_000, grace: 60_000), logger: logger, quiet: logger)
        let call = HelperCall(
            scheme: "demo", owner: UserID(geteuid()), task: .firstVolatile, patience: 60_000,
            order: HelperOrder(Exchange(url: "demo://x", judge: CaptureJudge())), part: nil, payload: .none,
            source: nil)
        return pool.begin(call) { taker.take($0) }
    }

    private var note: String? { try? String(Files.text(folder.file("note")).dropLast()) }

    /// The memory that descriptor 3 of the helper occupies, in bytes.
    private func held(_ pid: String) -> Int {
        var info = stat()
        return stat("/proc/\(pid)/fd/3", &info) == 0 ? Int(info.st_blocks) * 512 : 0
    }

    private func isStopped(_ pid: String) -> Bool {
        (try? Files.text("/proc/\(pid)/stat"))?.split(separator: " ").dropFirst(2).first == "T"
    }

    /// A remote body of any length takes little memory, whether or not its client takes the bytes.
    @Test(.timeLimit(.minutes(1))) func aMemoryFileHoldsLittle() async throws {
        let taker = Taker()
        let conversation = try await ask(
            """
            for number in range(200):
                os.pwrite(3, block, number << 20)
                say("wrote", id=1, offset=(number + 1) << 20)
            sys.stdin.readline()
            """, taker)
        #expect(await eventually { note.map(isStopped) ?? false })
        let pid = try #require(note)
        #expect(taker.bytes < 4 << 20 && held(pid) < 128 << 20)
        #expect(
            await eventually {
                for event in taker.untaken { conversation.took(event.weight) }
                return taker.bytes == 200 << 20
            })
        #expect(await eventually { held(pid) < 1 << 20 && !isStopped(pid) })
        await withCheckedContinuation { continuation in conversation.end { continuation.resume() } }
    }

    @Test(.timeLimit(.minutes(1))) func aHelperNamesWhatItWrites() async throws {
        let taker = Taker()
        _ = try await ask(
            """
            for number in range(80): os.pwrite(3, block, number << 20)
            sys.stdin.readline()
            """, taker)
        #expect(await eventually { taker.error != nil })
        #expect(taker.error?.code == .helperProtocol && taker.error?.message.contains("64 MiB") == true)
    }

    /// A helper that goes on after its request has ended fills no memory.
    @Test(.timeLimit(.minutes(1))) func aMemoryFileEndsWithItsRequest() async throws {
        let taker = Taker()
        let conversation = try await ask(
            """
            os.pwrite(3, block, 0)
            sys.stdin.readline()
            # The file may be sealed a moment after that line.
            while True:
                try: os.pwrite(3, block, 0)
                except OSError as error:
                    put(os.strerror(error.errno))
                    break
            """, taker)
        #expect(await eventually { note != nil })
        await withCheckedContinuation { continuation in conversation.end { continuation.resume() } }
        #expect(await eventually { note == "Operation not permitted" })
    }
}
