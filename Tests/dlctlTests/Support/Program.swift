import Foundation
import TestSupport
import Threading

/// Runs the built dlctl as a user does, and collects its output.
final class Program: Sendable {
    struct Outcome: Sendable {
        var status: Int32
        var output: String
        var error: String
        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// Next to the test runner, because the package manager puts all products there.
    static var path: String? {
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return nil }
        let path = URL(filePath: own).deletingLastPathComponent().appending(path: "dlctl").path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }

    private let process = Guarded<Process?>(nil)
    private let output = Recorder<Data>()
    private let error = Recorder<Data>()
    private let isOver = Guarded<Int32?>(nil)

    init(_ arguments: [String], input: String = "", environment: [String: String], folder: String) throws {
        let process = Process()
        process.executableURL = URL(filePath: Program.path ?? "/nonexistent/dlctl")
        process.arguments = arguments
        process.environment = environment
        process.currentDirectoryURL = URL(filePath: folder)
        let (inputPipe, outputPipe, errorPipe) = (Pipe(), Pipe(), Pipe())
        process.standardInput = inputPipe
        process.standardOutput = outputPipe
        process.standardError = errorPipe
        Self.drain(outputPipe, into: output)
        Self.drain(errorPipe, into: error)
        process.terminationHandler = { [self] process in
            let reason: Int32 = process.terminationReason == .uncaughtSignal ? 128 : 0
            isOver.withLock { $0 = process.terminationStatus + reason }
        }
        try process.run()
        try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try inputPipe.fileHandleForWriting.close()
        self.process.withLock { $0 = process }
    }

    private static func drain(_ pipe: Pipe, into recorder: Recorder<Data>) {
        let handle = pipe.fileHandleForReading
        Thread.detachNewThread {
            while case let data = handle.availableData, !data.isEmpty { recorder.add(data) }
            // An empty piece marks the end.
            recorder.add(Data())
        }
    }

    func interrupt() { process.withLock { $0?.interrupt() } }

    var outputSoFar: String { String(decoding: output.all.reduce(Data(), +), as: UTF8.self) }

    /// Polls until the output contains `text`.
    func waitForOutput(_ text: String) async -> Bool {
        await output.wait { String(decoding: $0.reduce(Data(), +), as: UTF8.self).contains(text) }
    }

    /// The same for standard error.
    func waitForError(_ text: String) async -> Bool {
        await error.wait { String(decoding: $0.reduce(Data(), +), as: UTF8.self).contains(text) }
    }

    /// Waits for the end. A program that hangs is killed after half a minute.
    func finish() async -> Outcome {
        for _ in 0..<3000 where isOver.withLock({ $0 }) == nil { try? await Task.sleep(for: .milliseconds(10)) }
        if isOver.withLock({ $0 }) == nil {
            process.withLock { if let process = $0 { kill(process.processIdentifier, SIGKILL) } }
        }
        _ = await output.wait { $0.last?.isEmpty == true }
        _ = await error.wait { $0.last?.isEmpty == true }
        return Outcome(
            status: isOver.withLock { $0 } ?? -1, output: outputSoFar,
            error: String(decoding: error.all.reduce(Data(), +), as: UTF8.self))
    }
}

/// A folder with a fake daemon's socket, and the environment that makes dlctl use it.
final class Bench: Sendable {
    private let temporary: TemporaryFolder
    let daemon: FakeDaemon

    init() async throws {
        temporary = try TemporaryFolder()
        let folder = temporary.path
        daemon = FakeDaemon(socket: folder + "/s")
        try await daemon.start()
    }

    var folder: String { temporary.path }

    var environment: [String: String] {
        ["DLD_SOCKET": folder + "/s", "HOME": folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"]
    }

    func start(_ arguments: String..., input: String = "") throws -> Program {
        try Program(arguments, input: input, environment: environment, folder: folder)
    }

    func run(_ arguments: String..., input: String = "") async throws -> Program.Outcome {
        try await Program(arguments, input: input, environment: environment, folder: folder).finish()
    }
}
