import Foundation
import Glibc
import TestSupport

/// A real server program on a free loopback port, with a configuration of its own; ended by its own process id.
final class RealServer: Sendable {
    let port: Int
    private let program: Program

    /// Whether the tests may use `program`. Absent programs skip a test, unless DLD_REQUIRE_SERVERS is 1.
    static func has(_ programs: String...) -> Bool {
        let required = ProcessInfo.processInfo.environment["DLD_REQUIRE_SERVERS"] == "1"
        return required || programs.allSatisfy { Program.find($0) != nil }
    }

    /// Starts the program with arguments made for the port, and returns once it accepts connections.
    init(_ name: String, in folder: Folder, arguments: (Int) throws -> [String]) async throws {
        let free = try ListeningSocket.freePort()
        port = Int(free)
        guard let path = Program.find(name) else { throw TestFailure("\(name) is not installed") }
        let program = try Program([path] + arguments(port), output: folder.file("\(name).log"))
        self.program = program
        try await eventually("\(name) accepts") { !program.isRunning || ServerProcess.accepts(free) }
        guard program.isRunning else {
            throw TestFailure("\(name) ended: " + String(decoding: try folder.read("\(name).log"), as: UTF8.self))
        }
    }

    /// Asks it to end, so that it tidies up after itself; `Program` insists.
    deinit {
        program.signal(SIGTERM)
        for _ in 0..<400 where program.isRunning { usleep(5000) }
    }

    /// Runs a program to its end.
    static func run(_ name: String, _ arguments: [String]) async throws {
        guard let path = Program.find(name) else { throw TestFailure("\(name) is not installed") }
        try await Program.require([path] + arguments)
    }
}
