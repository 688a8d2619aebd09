import TestSupport

/// Another process that writes to the store's database. While it holds the lock, no commit of the daemon succeeds.
final class StoreLock: Sendable {
    private let folder: TemporaryFolder
    private let program: Program

    private static let script = """
        import sqlite3, sys, os, time
        database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
        while not os.path.exists(sys.argv[2] + "/lock"): time.sleep(0.001)
        database.execute("BEGIN IMMEDIATE")
        open(sys.argv[2] + "/locked", "w").close()
        time.sleep(300)
        """

    init(_ stateFolder: String) throws {
        folder = try TemporaryFolder()
        program = try Program(
            ["python3", "-c", Self.script, stateFolder + "/dld.sqlite", folder.path],
            environment: Program.plainEnvironment, output: folder.file("log"))
    }

    func acquire() async throws {
        try Files.write(folder.file("lock"), "")
        let locked = folder.file("locked")
        guard await eventually({ Files.exists(locked) }) else { throw SupportError("the store cannot be locked") }
    }

    func release() async throws { try await program.killNow() }
}
