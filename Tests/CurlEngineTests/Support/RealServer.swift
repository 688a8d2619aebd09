import Foundation
import Glibc

@testable import CurlEngine

/// A real server program on a free loopback port, with a configuration of its own; ended by its own process id.
final class RealServer: @unchecked Sendable {
    let port: Int
    private let process = Process()

    /// Whether the tests may use `program`. Absent programs skip a test, unless DLD_REQUIRE_SERVERS is 1.
    static func has(_ programs: String...) -> Bool {
        let required = ProcessInfo.processInfo.environment["DLD_REQUIRE_SERVERS"] == "1"
        return required || programs.allSatisfy { find($0) != nil }
    }

    static func find(_ program: String) -> String? {
        ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/sbin", "/bin"]
            .map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// Starts the program with arguments made for the port, and returns once it accepts connections.
    init(_ program: String, in folder: Folder, arguments: (Int) throws -> [String]) async throws {
        port = try Self.freePort()
        guard let path = Self.find(program) else { throw TestFailure("\(program) is not installed") }
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = try arguments(port)
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        try folder.write("\(program).log", [])
        let log = FileHandle(forWritingAtPath: folder.file("\(program).log"))
        process.standardOutput = log
        process.standardError = log
        try process.run()
        let (process, port) = (self.process, port)
        do {
            try await eventually("\(program) accepts") { !process.isRunning || Self.accepts(port) }
        } catch {
            Self.end(process)
            throw error
        }
        guard process.isRunning else {
            throw TestFailure("\(program) ended: " + String(decoding: try folder.read("\(program).log"), as: UTF8.self))
        }
    }

    deinit { Self.end(process) }

    /// The child inherits the signal mask of a pool thread, which may block SIGTERM: what does not heed it is killed.
    private static func end(_ process: Process) {
        guard process.isRunning else { return }
        process.terminate()
        for _ in 0..<100 where process.isRunning { usleep(5000) }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func accepts(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = address(port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard bound else { throw TestFailure("no free port") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Runs a program to its end.
    ///
    /// Not through Process, which learns of an end from a descriptor that a server started meanwhile may have inherited.
    static func run(_ program: String, _ arguments: [String]) throws {
        guard let path = find(program) else { throw TestFailure("\(program) is not installed") }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in Int32(0)...2 {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var child: pid_t = 0
        guard posix_spawn(&child, path, &actions, nil, words, environ) == 0 else {
            throw TestFailure("\(program) does not start")
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw TestFailure("\(program) \(arguments) failed") }
    }
}
