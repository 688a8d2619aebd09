import CLinux
import FileKit
import Glibc
import Logging
import Threading
import TransferCore
import TransferModel

/// The program of `credentialHelper`, which speaks git's credential protocol (git-credential(1), INPUT/OUTPUT FORMAT): it gives
/// credentials, and hears which worked and which did not.
///
/// It runs with the rights of the daemon's user, so a system daemon has none. Whatever it does costs 10 s and 64 KiB at most, and
/// 30 s for those that wait for their turn.
package struct CredentialHelper: Sendable {
    private static let patience = 10
    /// Seconds for its turn and its answer.
    private static let longestWait = 30
    private static let mostOutput = 64 << 10
    /// Programs at one time: a thousand tasks that are asked for credentials need not be a thousand processes.
    private static let width = 4

    private let command: @Sendable () -> String?
    private let environment: [String: String]
    private let logger: Logger
    private let turns: Turnstile

    /// - Parameters:
    ///   - environment: of the daemon; only what a program of the user needs is handed on.
    ///   - command: the setting as it is now: a program and its arguments, between spaces; nil for none.
    package init(
        environment: [String: String], logger: Logger, command: @escaping @Sendable () -> String?
    ) {
        var handedOn = LaunchRunner.handedOn(of: environment)
        // Nobody is there whom it could ask.
        handedOn["GIT_TERMINAL_PROMPT"] = "0"
        self.environment = handedOn
        self.logger = logger
        self.command = command
        turns = Turnstile(width: Self.width)
    }

    var isSet: Bool { !words.isEmpty }

    private var words: [String] { (command() ?? "").split(separator: " ").map(String.init) }

    /// A program that fails, or says what nobody can use, is logged.
    func get(for demand: ProtectionSpace) async -> HelperAnswer {
        switch await run("get", GitCredential.request(for: demand)) {
        case .failure(let error): return .failed(error.message)
        case .success(let output):
            let answer = GitCredential.answer(output)
            if case .failed(let reason) = answer { complain("get", reason) }
            return answer
        }
    }

    /// What it gave has worked.
    func store(_ username: String, _ password: String, for demand: ProtectionSpace) async {
        _ = await run("store", GitCredential.request(for: demand, username, password))
    }

    /// What it gave was refused.
    func erase(_ username: String, _ password: String, for demand: ProtectionSpace) async {
        _ = await run("erase", GitCredential.request(for: demand, username, password))
    }

    /// - Returns: its output, or why it failed, which is logged. If the task is cancelled that is at once; the program is
    ///   killed.
    private func run(_ action: String, _ input: [UInt8]?) async -> Call.Result {
        let words = words
        guard !words.isEmpty else { return .failure(TransferError(.internal, "There is none.")) }
        guard let input else {
            return .failure(TransferError(.internal, "Its protocol cannot say what it is to be asked."))
        }
        let call = Call()
        let limit = Task {
            try await Task.sleep(for: .seconds(Self.longestWait))
            call.end(.failure(TransferError(.internal, "Too many ask it at a time.")))
        }
        defer { limit.cancel() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                call.wait(continuation)
                turns.enter { start(call, words + [action], input) }
            }
        } onCancel: {
            call.end(.failure(TransferError(.cancelled, "Its answer is not wanted any more.")))
        }
        if case .failure(let error) = result, error.code != .cancelled { complain(action, error.message) }
        return result
    }

    private func complain(_ action: String, _ reason: String) {
        logger.warning("the credential helper failed", metadata: ["action": "\(action)", "error": "\(reason)"])
    }

    /// Runs the program on a thread of its own, and leaves the turnstile after it.
    private func start(_ call: Call, _ argv: [String], _ input: [UInt8]) {
        guard call.isWanted else { return turns.leave() }
        let isStarted = NamedThread.start("dld-launch") {
            let result = Result { () throws(TransferError) -> [UInt8] in
                try Self.perform(argv, input, environment) { call.isWanted }
            }
            turns.leave()
            call.end(result)
        }
        guard !isStarted else { return }
        turns.leave()
        call.end(.failure(TransferError(.internal, "No thread could be started.")))
    }

    /// Runs the program to its end. Blocks.
    private static func perform(
        _ argv: [String], _ input: [UInt8], _ environment: [String: String], while isWanted: () -> Bool
    ) throws(TransferError) -> [UInt8] {
        let child = try PipedProcess(argv, given: input, environment: environment)
        guard let output = child.answer(atMost: mostOutput, until: .now + .seconds(patience), while: isWanted) else {
            throw TransferError(.internal, "It did not end within \(patience) s, or said too much; it was ended.")
        }
        switch output.status {
        case 0: return output.bytes
        // What the shell says (sh(1), EXIT STATUS).
        case 126, 127: throw TransferError(.internal, "It cannot be run; check the path in credentialHelper.")
        default: throw TransferError(.internal, "It ended with status \(output.status).")
        }
    }
}

/// One wait for a program, which ends once: with what the program says, or because nobody wants that any more.
private final class Call: Sendable {
    typealias Result = Swift.Result<[UInt8], TransferError>

    private struct State {
        var result: Result?
        var continuation: CheckedContinuation<Result, Never>?
    }

    private let state = Guarded(State())

    var isWanted: Bool { state.withLock { $0.result == nil } }

    func wait(_ continuation: CheckedContinuation<Result, Never>) {
        let result = state.withLock { state in
            if state.result == nil { state.continuation = continuation }
            return state.result
        }
        if let result { continuation.resume(returning: result) }
    }

    /// The first end counts.
    func end(_ result: Result) {
        let waiting = state.withLock { state in
            guard state.result == nil else { return nil as CheckedContinuation<Result, Never>? }
            state.result = result
            defer { state.continuation = nil }
            return state.continuation
        }
        waiting?.resume(returning: result)
    }
}
