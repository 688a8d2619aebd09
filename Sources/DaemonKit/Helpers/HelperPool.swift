import CurlEngine
import Glibc
import Logging
import Threading
import TransferCore
import TransferModel

/// Starts helpers and passes them requests. A helper that serves many requests has one process for each owner and
/// scheme; any other has one for each request. No process sees requests of two owners, or of both durable and volatile
/// tasks.
///
/// Each process has a thread, which starts it and ends with it. A program's hello tells whether it serves many
/// requests. Until then, requests wait for the first process, which is started without descriptor 3, because that
/// descriptor belongs to one request.
package final class HelperPool: HelperServing {
    private struct Key: Hashable {
        var scheme: String
        var owner: UserID
        var isVolatile: Bool
    }

    private struct Entry {
        var waiting: [HelperAsked] = []
        /// The process that serves many requests.
        var host: HelperHost?
        /// A thread is finding out what kind of program it is.
        var isStarting = false
        var pace = HelperPace()
        var known: (program: HelperProgram, servesMany: Bool)?
    }

    /// Milliseconds between the end of a process's output and its own end.
    private static let shortGrace: Int64 = 200

    private let folders: HelperFolders
    private let environment: [String: String]
    private let patience: HelperPatience
    private let logger: Logger
    private let quiet: Logger
    private let entries = Guarded<[Key: Entry]>([:])

    /// - Parameters:
    ///   - environment: the daemon's environment; a helper gets only what a user's program needs.
    ///   - quiet: the logger for volatile tasks.
    package convenience init(folders: HelperFolders, environment: [String: String], logger: Logger, quiet: Logger) {
        self.init(
            folders: folders, environment: environment, patience: HelperPatience(), logger: logger, quiet: quiet)
    }

    init(
        folders: HelperFolders, environment: [String: String], patience: HelperPatience, logger: Logger, quiet: Logger
    ) {
        self.folders = folders
        self.environment = LaunchRunner.handedOn(of: environment)
        self.patience = patience
        self.logger = logger
        self.quiet = quiet
    }

    package func begin(
        _ call: HelperCall, deliver: @escaping @Sendable (HelperEvent) -> Void
    ) -> any HelperConversation {
        let asked = HelperAsked(call, deliver: deliver)
        let key = Key(scheme: call.scheme, owner: call.owner, isVolatile: call.task.isVolatile)
        let needsThread = entries.withLock { entries in
            var entry = entries[key] ?? Entry()
            defer { entries[key] = entry }
            if entry.host?.add(asked) == true { return false }
            entry.host = nil
            entry.waiting.append(asked)
            if entry.known?.servesMany == false { return true }
            defer { entry.isStarting = true }
            return !entry.isStarting
        }
        if needsThread { start(key) }
        return asked
    }

    private func start(_ key: Key) {
        guard !NamedThread.start("dld-helper", { self.serve(key) }) else { return }
        fail(key, .helperFailed(key.scheme, "cannot be started: the system gives no thread.", retryable: true))
    }

    // MARK: A thread of a process

    private func serve(_ key: Key) {
        repeat {
            let wait = entries.withLock { $0[key]?.pace.wait(at: HelperProcess.now) } ?? 0
            if wait > 0 { usleep(UInt32(wait) * 1000) }
            let program: HelperProgram
            do throws(TransferError) {
                program = try folders.program(of: key.scheme)
            } catch {
                // A helper may lead to a scheme that has none, and a helper may be removed.
                fail(key, error)
                return
            }
            let known = entries.withLock { $0[key]?.known }
            switch known.flatMap({ $0.program == program ? $0.servesMany : nil }) {
            case nil: introduce(key, program)
            case true?: serveMany(key, program)
            case false?: _ = serveOne(key, program)
            }
        } while mustGoOn(key)
    }

    /// Tells whether requests wait for this thread.
    private func mustGoOn(_ key: Key) -> Bool {
        entries.withLock { entries in
            guard var entry = entries[key] else { return false }
            if entry.known?.servesMany == false { return !entry.waiting.isEmpty }
            defer { entries[key] = entry }
            entry.isStarting = entry.host == nil && !entry.waiting.isEmpty
            return entry.isStarting
        }
    }

    private func makeHost(_ key: Key) -> HelperHost {
        HelperHost(scheme: key.scheme, patience: patience, logger: logger(of: key))
    }

    private func makeProcess(
        _ key: Key, _ program: HelperProgram, _ host: HelperHost, part: Int32? = nil
    ) throws(TransferError) -> HelperProcess {
        try HelperProcess(
            program, scheme: key.scheme, part: part, wakeup: host.wakeupDescriptor, environment: environment,
            logger: logger(of: key))
    }

    private func logger(of key: Key) -> Logger { key.isVolatile ? quiet : logger }

    /// Learns from a first process what kind of program it is. If that process ends because it needs descriptor 3,
    /// another one gets the descriptor.
    private func introduce(_ key: Key, _ program: HelperProgram) {
        let host = makeHost(key)
        let start = HelperProcess.now
        do throws(TransferError) {
            let process = try makeProcess(key, program, host)
            do throws(TransferError) {
                let hello = try process.hello(within: patience(of: key))
                learn(key, program, servesMany: hello.servesMany, serving: 1)
                guard !hello.servesMany else { return serveMany(key, host, process, hello) }
                process.finish(grace: 0)
            } catch {
                process.finish(grace: 0)
                guard error.code == .helperFailed, process.isAtEnd else { throw error }
            }
            if let error = serveOne(key, program) {
                // The kind of program is still unknown, and the other requests would only fail in the same way.
                let isUnknown = entries.withLock { $0[key]?.known?.program != program }
                if isUnknown { fail(key, error) }
            }
        } catch {
            failed(key, error, startedAt: start)
            fail(key, error)
        }
    }

    /// Milliseconds to wait for the first line: the shortest patience of all waiting requests.
    private func patience(of key: Key) -> Int64 {
        let shortest = entries.withLock { $0[key]?.waiting.map(\.call.patience).min() }
        return min(patience.hello, shortest ?? patience.hello)
    }

    /// Stores the kind of program. If it serves one request at a time, each waiting request gets a thread.
    /// - Parameter serving: the number of waiting requests that this thread serves next.
    private func learn(_ key: Key, _ program: HelperProgram, servesMany: Bool, serving: Int) {
        let others = entries.withLock { entries in
            guard var entry = entries[key] else { return 0 }
            defer { entries[key] = entry }
            let wasKnown = entry.known?.program == program && entry.known?.servesMany == servesMany
            entry.known = (program, servesMany)
            guard !servesMany, !wasKnown else { return 0 }
            entry.isStarting = false
            return max(0, entry.waiting.count - serving)
        }
        for _ in 0..<others { start(key) }
    }

    // MARK: Many requests

    private func serveMany(_ key: Key, _ program: HelperProgram) {
        let host = makeHost(key)
        let start = HelperProcess.now
        do throws(TransferError) {
            let process = try makeProcess(key, program, host)
            do throws(TransferError) {
                let hello = try process.hello(within: patience(of: key))
                guard hello.servesMany else {
                    process.finish(grace: 0)
                    return learn(key, program, servesMany: false, serving: 1)
                }
                serveMany(key, host, process, hello)
            } catch {
                process.finish(grace: 0)
                throw error
            }
        } catch {
            failed(key, error, startedAt: start)
            fail(key, error)
        }
    }

    private func serveMany(_ key: Key, _ host: HelperHost, _ process: HelperProcess, _ hello: HelperHello) {
        entries.withLock { entries in
            guard var entry = entries[key] else { return }
            entry.waiting.removeAll { host.add($0) }
            entry.host = host
            entries[key] = entry
        }
        let end = host.serveMany(process, hello) { succeeded(key) }
        let words = process.finish(grace: end.isNeedless ? patience.grace : Self.shortGrace)
        guard let error = error(of: end, words, key.scheme, isShared: host.isShared) else { return }
        failed(key, error, startedAt: process.startedAt)
        host.fail(error)
    }

    // MARK: One request

    /// - Returns: why the helper failed.
    private func serveOne(_ key: Key, _ program: HelperProgram) -> TransferError? {
        let next = entries.withLock { entries -> HelperAsked? in
            guard let isEmpty = entries[key]?.waiting.isEmpty, !isEmpty else { return nil }
            return entries[key]?.waiting.removeFirst()
        }
        guard let asked = next else { return nil }
        defer { asked.free() }
        let host = makeHost(key)
        // From now on, ending the request waits until the process is gone, because the process has the part file.
        guard asked.isServed(writesPart: asked.call.part != nil, wake: { host.wake() }) else { return nil }
        let file: HelperFile
        do throws(TransferError) {
            file = try makeFile(asked.call)
        } catch {
            // A fault of the task's folder delays no other task.
            asked.deliver(.failed(error, retryAfter: nil))
            return nil
        }
        let start = HelperProcess.now
        do throws(TransferError) {
            let process = try makeProcess(key, program, host, part: file.descriptor)
            var end = HelperHost.End.needless
            do throws(TransferError) {
                let hello = try process.hello(within: min(patience.hello, asked.call.patience)) { !asked.isEnded }
                learn(key, program, servesMany: hello.servesMany, serving: 0)
                end = host.serveOne(asked, process, hello, file: file) { succeeded(key) }
            } catch {
                process.finish(grace: 0)
                throw error
            }
            let words = process.finish(grace: end.isNeedless ? patience.grace : Self.shortGrace)
            guard let error = error(of: end, words, key.scheme, isShared: false) else { return nil }
            failed(key, error, startedAt: start)
            host.fail(error)
            return error
        } catch {
            guard !asked.isEnded else { return nil }
            failed(key, error, startedAt: start)
            asked.deliver(.failed(error, retryAfter: nil))
            return error
        }
    }

    private func makeFile(_ call: HelperCall) throws(TransferError) -> HelperFile {
        if let part = call.part { return try HelperFile(part, offset: call.order.offset) }
        guard let file = HelperFile(from: call.order.offset) else {
            throw .helperFailed(call.scheme, "cannot be started: \(String(cString: strerror(errno))).", retryable: true)
        }
        return file
    }

    // MARK: Failures

    /// - Parameter isShared: the process also serves requests other than the one at fault.
    private func error(of end: HelperHost.End, _ words: String, _ scheme: String, isShared: Bool) -> TransferError? {
        switch end {
        case .needless: nil
        case .died: .helperFailed(scheme, "\(words) before it had finished.", retryable: true)
        case .violated(let violation): .helperProtocol(scheme, violation, retryable: isShared)
        }
    }

    private func succeeded(_ key: Key) { entries.withLock { $0[key]?.pace.succeeded() } }

    private func failed(_ key: Key, _ error: TransferError, startedAt start: Int64) {
        entries.withLock { $0[key]?.pace.failed(at: HelperProcess.now, startedAt: start) }
        logger(of: key).warning("a helper failed", metadata: ["scheme": "\(key.scheme)", "error": "\(error.message)"])
    }

    /// Ends all waiting requests.
    private func fail(_ key: Key, _ error: TransferError) {
        let waiting = entries.withLock { entries in
            defer {
                entries[key]?.waiting = []
                entries[key]?.isStarting = false
            }
            return entries[key]?.waiting ?? []
        }
        for asked in waiting {
            asked.deliver(.failed(error, retryAfter: nil))
            asked.free()
        }
    }
}

extension HelperHost.End {
    var isNeedless: Bool { if case .needless = self { true } else { false } }
}
