import CLinux
import FileKit
import Glibc
import Logging
import Threading
import TransferCore
import TransferModel

/// The program of `credentialHelper`, which speaks git's credential protocol (git-credential(1), INPUT/OUTPUT FORMAT).
/// It supplies credentials, and is told which were accepted and which were refused.
///
/// It runs with the rights of the daemon's user, so a system daemon has none. Each call takes at most 10 s and 64 KiB;
/// a caller waits at most 30 s, including its turn.
package struct CredentialHelper: Sendable {
    private static let patience = 10
    /// Seconds for a call, including the wait for its turn.
    private static let longestWait = 30
    private static let mostOutput = 64 << 10
    /// The number of programs at a time. A thousand tasks that need credentials must not start a thousand processes.
    private static let width = 4

    private let command: @Sendable () -> String?
    private let environment: [String: String]
    private let logger: Logger
    private let turns: Turnstile

    /// - Parameters:
    ///   - environment: the daemon's environment; the program gets only what a user's program needs.
    ///   - command: returns the current setting: a program and its arguments, separated by spaces; nil for none.
    package init(
        environment: [String: String], logger: Logger, command: @escaping @Sendable () -> String?
    ) {
        var handedOn = LaunchRunner.handedOn(of: environment)
        // There is no user whom the program could ask.
        handedOn["GIT_TERMINAL_PROMPT"] = "0"
        self.environment = handedOn
        self.logger = logger
        self.command = command
        turns = Turnstile(width: Self.width)
    }

    var isSet: Bool { command()?.utf8.contains { $0 != UInt8(ascii: " ") } ?? false }

    private var words: [String] { (command() ?? "").split(separator: " ").map(String.init) }

    /// Asks the program for credentials. A failure or an unusable answer is logged.
    /// - Parameters:
    ///   - username: whose credential it must be; nil for any.
    ///   - now: what has expired is not used.
    func get(for demand: ProtectionSpace, of username: String? = nil, at now: Timestamp) async -> HelperAnswer {
        switch await run("get", GitCredential.request(for: demand, username)) {
        case .failure(let error): return .failed(error.message)
        case .success(let output):
            let answer = GitCredential.answer(output, at: now)
            if case .failed(let reason) = answer { complain("get", reason) }
            if let username, let found = answer.credential, found.username != username { return .nothing }
            return answer
        }
    }

    /// Tells the program that its credential was accepted.
    /// - Parameter attributes: what it gave with the password.
    func store(
        _ username: String, _ password: String, for demand: ProtectionSpace, attributes: [String: String] = [:]
    ) async {
        _ = await run("store", GitCredential.request(for: demand, username, password, attributes: attributes))
    }

    /// Tells the program that its credential was refused.
    func erase(_ username: String, _ password: String, for demand: ProtectionSpace) async {
        _ = await run("erase", GitCredential.request(for: demand, username, password))
    }

    /// - Returns: the output, or why the program failed, which is logged. If the task is cancelled, this returns at
    ///   once and the program is killed.
    private func run(_ action: String, _ input: [UInt8]?) async -> Call.Result {
        let words = words
        guard !words.isEmpty else { return .failure(TransferError(.internal, "There is none.")) }
        guard let input else {
            return .failure(TransferError(.internal, "Its protocol cannot express a line break or NUL."))
        }
        let call = Call()
        let limit = Task {
            try await Task.sleep(for: .seconds(Self.longestWait))
            call.end(.failure(TransferError(.internal, "Too many ask it at a time.")))
        }
        defer { limit.cancel() }
        let cancelled = Call.Result.failure(TransferError(.cancelled, "Its answer is no longer needed."))
        let result = await withTaskCancellationHandler {
            turns.enter(ifWanted: { start(call, words + [action], input) })
            return await call.result() ?? cancelled
        } onCancel: {
            call.end(cancelled)
        }
        if case .failure(let error) = result, error.code != .cancelled { complain(action, error.message) }
        return result
    }

    private func complain(_ action: String, _ reason: String) {
        logger.warning("the credential helper failed", metadata: ["action": "\(action)", "error": "\(reason)"])
    }

    /// Runs the program on its own thread, and leaves the turnstile afterwards.
    /// - Returns: false if no program runs.
    private func start(_ call: Call, _ argv: [String], _ input: [UInt8]) -> Bool {
        guard call.isWanted else { return false }
        let isStarted = NamedThread.start("dld-launch") {
            let result = Result { () throws(TransferError) -> [UInt8] in
                try Self.perform(argv, input, environment) { call.isWanted }
            }
            turns.leave()
            call.end(result)
        }
        if !isStarted { call.end(.failure(TransferError(.internal, "No thread could be started."))) }
        return isStarted
    }

    /// Runs the program to its end. Blocks.
    private static func perform(
        _ argv: [String], _ input: [UInt8], _ environment: [String: String], while isWanted: () -> Bool
    ) throws(TransferError) -> [UInt8] {
        let child = try PipedProcess(argv, given: input, environment: environment)
        guard let output = child.answer(atMost: mostOutput, until: .now + .seconds(patience), while: isWanted) else {
            throw TransferError(.internal, "It did not end within \(patience) s, or wrote too much; it was ended.")
        }
        switch output.status {
        case 0: return output.bytes
        // The statuses of the shell (sh(1), EXIT STATUS).
        case 126, 127: throw TransferError(.internal, "It cannot be run; check the path in credentialHelper.")
        default: throw TransferError(.internal, "It ended with status \(output.status).")
        }
    }
}

/// One call of the program. It ends once: with the program's answer, or because nobody wants it any more.
private struct Call: Sendable {
    typealias Result = Swift.Result<[UInt8], TransferError>

    private let results = AsyncStream.makeStream(of: Result.self)
    private let hasEnded = Guarded(false)

    var isWanted: Bool { hasEnded.withLock { !$0 } }

    /// nil if the task is cancelled.
    func result() async -> Result? { await results.stream.first { _ in true } }

    /// Only the first end counts.
    func end(_ result: Result) {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        guard isFirst else { return }
        results.continuation.yield(result)
        results.continuation.finish()
    }
}
