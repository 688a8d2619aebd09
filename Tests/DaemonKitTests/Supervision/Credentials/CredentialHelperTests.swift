import Glibc
import Logging
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import DaemonKit

struct CredentialHelperTests {
    private static let demand = ProtectionSpace(
        host: "a.org", port: 8443, protocol: "https", realm: "r", method: .httpBasic, isProxy: false)
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)
    private let folder: TemporaryFolder
    private let lines = Lines()

    /// Collects log lines.
    private final class Lines: Sendable {
        private let known = Guarded<[String]>([])
        var all: [String] { known.withLock { $0 } }
        func add(_ line: String) { known.withLock { $0.append(line) } }
    }

    private struct Listener: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.add("\(event.message) \(event.metadata ?? [:])") }
    }

    init() throws { folder = try TemporaryFolder() }

    private func helper(_ command: String?) -> CredentialHelper {
        let logger = Logger(label: "test") { [lines] _ in Listener(lines: lines) }
        return CredentialHelper(environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"], logger: logger) { command }
    }

    private func script(_ text: String) throws -> CredentialHelper {
        try Files.write(folder.file("helper"), "#!/bin/sh\n" + text, mode: 0o700)
        return helper(folder.file("helper"))
    }

    /// The real program, started as git starts it.
    @Test(.enabled(if: Requirements.has("git"))) func gitsOwnStoreGivesKeepsAndForgets() async throws {
        let file = folder.file("credentials")
        let helper = helper("git credential-store --file \(file)")
        #expect(helper.isSet)
        #expect(await helper.get(for: Self.demand, at: Self.now) == .nothing)
        await helper.store("anna", "p@s s=w", for: Self.demand)
        #expect(try Files.text(file) == "https://anna:p%40s%20s%3dw@a.org%3a8443\n")
        let found = await helper.get(for: Self.demand, at: Self.now)
        #expect(found.credential == FoundCredential(username: "anna", password: "p@s s=w", source: .helper))
        var other = Self.demand
        other.port = 443
        #expect(await helper.get(for: other, at: Self.now) == .nothing)
        await helper.erase("anna", "p@s s=w", for: Self.demand)
        #expect(await helper.get(for: Self.demand, at: Self.now) == .nothing)
    }

    @Test func itIsToldTheActionAndTheDemand() async throws {
        let helper = try script("echo \"$@\" > \(folder.file("said"))\ncat >> \(folder.file("said"))\n")
        await helper.store("anna", "p", for: Self.demand)
        #expect(
            try Files.text(folder.file("said"))
                == "store\nprotocol=https\nhost=a.org:8443\nusername=anna\npassword=p\n\n")
    }

    private func reason(_ answer: HelperAnswer) -> String {
        if case .failed(let reason) = answer { reason } else { "\(answer)" }
    }

    @Test func whatFailsHasNone() async throws {
        let none = helper(nil)
        #expect(!none.isSet)
        #expect(await none.get(for: Self.demand, at: Self.now).credential == nil)
        let missing = await helper("/no/such/program").get(for: Self.demand, at: Self.now)
        #expect(reason(missing).contains("credentialHelper"), "\(missing)")
        let failing = try script("echo username=a; echo password=p; exit 1\n")
        #expect(reason(await failing.get(for: Self.demand, at: Self.now)).contains("status 1"))
        let endless = try script("echo username=a; echo password=p; yes\n")
        #expect(reason(await endless.get(for: Self.demand, at: Self.now)).contains("wrote too much"))
        let deaf = try script("exec < /dev/null; echo username=a; echo password=p\n")
        #expect(await deaf.get(for: Self.demand, at: Self.now).credential?.username == "a")
        let odd = try script("echo Hello.\n")
        #expect(reason(await odd.get(for: Self.demand, at: Self.now)).contains("key=value"))
        #expect(lines.all.contains { $0.contains("key=value") }, "\(lines.all)")
    }

    /// A cancelled task stops waiting, and the program ends: the pipe that it holds open closes.
    @Test(.timeLimit(.minutes(1))) func aCancelledTaskWaitsForNoProgram() async throws {
        let fifo = folder.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let held = folder.file("held")
        try #require(mkfifo(held, 0o600) == 0)
        let helper = try script("exec 3> \(held); read line < \(fifo)\n")
        let asking = Task { await helper.get(for: Self.demand, at: Self.now) }
        // It can be opened for reading after the program has opened it for writing.
        let reader = open(held, O_RDONLY | O_CLOEXEC)
        try #require(reader >= 0)
        defer { close(reader) }
        asking.cancel()
        #expect(await asking.value.credential == nil)
        var byte: UInt8 = 0
        #expect(read(reader, &byte, 1) == 0)
        let others = (0..<8).map { _ in Task { await helper.get(for: Self.demand, at: Self.now) } }
        for other in others { other.cancel() }
        for other in others { #expect(await other.value.credential == nil) }
    }

    /// All programs that may run at the same time run, and thousands of tasks wait for their turn. Cancelled tasks are
    /// skipped without recursion.
    @Test(.timeLimit(.minutes(1))) func thousandsThatAreCancelledCostTheNextNothing() async throws {
        let fifo = folder.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let started = folder.file("started")
        let helper = try script(
            "echo >> \(started); read line < \(fifo); echo username=a; echo password=p\n")
        let gate = open(fifo, O_RDWR | O_CLOEXEC)
        try #require(gate >= 0)
        defer { close(gate) }
        let asking = (0..<4).map { _ in Task { await helper.get(for: Self.demand, at: Self.now) } }
        #expect(await eventually { (try? Files.text(started))?.count == 4 })
        let others = (0..<20_000).map { _ in Task { await helper.get(for: Self.demand, at: Self.now) } }
        for other in others { other.cancel() }
        for other in others { #expect(await other.value.credential == nil) }
        // One line for each running program, and one for the next program.
        try #require(write(gate, "\n\n\n\n\n", 5) == 5)
        for one in asking { #expect(await one.value.credential?.username == "a") }
        #expect(await helper.get(for: Self.demand, at: Self.now).credential?.username == "a")
    }
}
