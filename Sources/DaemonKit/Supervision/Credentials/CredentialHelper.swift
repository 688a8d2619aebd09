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
/// It runs with the rights of the daemon's user, so a system daemon has none. Whatever it does costs 10 s and 64 KiB at most.
package struct CredentialHelper: Sendable {
    private static let patience = 10
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

    /// nil if it has none, or fails.
    func get(for demand: ProtectionSpace) async -> FoundCredential? {
        guard let output = await run("get", GitCredential.request(for: demand)) else { return nil }
        return GitCredential.answer(output)
    }

    /// What it gave has worked.
    func store(_ username: String, _ password: String, for demand: ProtectionSpace) async {
        _ = await run("store", GitCredential.request(for: demand, username, password))
    }

    /// What it gave was refused.
    func erase(_ username: String, _ password: String, for demand: ProtectionSpace) async {
        _ = await run("erase", GitCredential.request(for: demand, username, password))
    }

    /// - Returns: its output; nil if it failed, which is logged.
    private func run(_ action: String, _ input: [UInt8]?) async -> [UInt8]? {
        let words = words
        guard let input, !words.isEmpty else { return nil }
        let result: Result<[UInt8], TransferError> = await withCheckedContinuation { continuation in
            turns.enter {
                let isStarted = NamedThread.start("dld-launch") {
                    let result = Result { () throws(TransferError) -> [UInt8] in
                        try Self.perform(words + [action], input, environment)
                    }
                    turns.leave()
                    continuation.resume(returning: result)
                }
                guard !isStarted else { return }
                turns.leave()
                continuation.resume(returning: .failure(TransferError(.internal, "No thread could be started.")))
            }
        }
        switch result {
        case .success(let output): return output
        case .failure(let error):
            logger.warning(
                "the credential helper failed", metadata: ["action": "\(action)", "error": "\(error.message)"])
            return nil
        }
    }

    /// Runs the program to its end. Blocks.
    private static func perform(
        _ argv: [String], _ input: [UInt8], _ environment: [String: String]
    ) throws(TransferError) -> [UInt8] {
        let child = try PipedProcess(argv, given: input, environment: environment)
        guard let output = child.answer(atMost: mostOutput, until: .now + .seconds(patience)) else {
            throw TransferError(.internal, "It did not end within \(patience) s, or said too much; it was ended.")
        }
        guard output.status == 0 else {
            throw TransferError(.internal, "It ended with status \(output.status).")
        }
        return output.bytes
    }
}
