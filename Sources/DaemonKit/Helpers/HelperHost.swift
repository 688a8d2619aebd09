import CLinux
import CurlEngine
import FileKit
import Glibc
import Logging
import Threading
import TransferCore
import TransferModel

/// The requests that one process serves, and what its lines say about them. Only `add` and `wake` may be called on
/// other threads than the process's own.
final class HelperHost: @unchecked Sendable {
    /// Why the process ended, or must end.
    enum End {
        /// Nobody needs it any more.
        case needless
        case died
        case violated(HelperViolation)
    }

    private struct Inbox {
        var added: [HelperAsked] = []
        var isClosed = false
    }

    private struct Served {
        let asked: HelperAsked
        var request: HelperRequest
        /// The time at which the request was sent.
        let loadedAt: Int64
        /// The bytes of a memory file that were passed on.
        var read: Int64
    }

    private let scheme: String
    private let patience: HelperPatience
    private let logger: Logger
    private let inbox = Guarded(Inbox())
    /// Closed with the last reference, because a late caller may still wake the thread.
    private let wakeup: Descriptor
    private var served: [Int64: Served] = [:]
    private var lastID: Int64 = 0
    private var paused = false
    private var hasWarned = false
    private var lastLine: Int64 = 0
    /// The process said nothing about a request until nobody wanted the request any more, so it may hang.
    private var isSuspect = false

    init(scheme: String, patience: HelperPatience, logger: Logger) {
        self.scheme = scheme
        self.patience = patience
        self.logger = logger
        wakeup = Descriptor(dld_eventfd_create())
    }

    var wakeupDescriptor: Int32 { wakeup.rawValue }

    func wake() { dld_eventfd_signal(wakeup.rawValue) }

    /// - Returns: false if the process accepts no more requests.
    func add(_ asked: HelperAsked) -> Bool {
        let isOpen = inbox.withLock { inbox in
            if !inbox.isClosed { inbox.added.append(asked) }
            return !inbox.isClosed
        }
        if isOpen { wake() }
        return isOpen
    }

    // MARK: Serving

    /// Serves many requests until none has come for a while, or until the process ends.
    /// - Parameter succeeded: called after each request that finished.
    func serveMany(_ process: HelperProcess, _ hello: HelperHello, succeeded: () -> Void) -> End {
        var idleSince = HelperProcess.now
        while true {
            if process.wasWoken() {
                for asked in takeAdded() { load(asked, process, hello, file: nil) }
                follow(process)
            }
            if isSuspect, served.isEmpty, close() { return .needless }
            if !served.isEmpty { idleSince = HelperProcess.now }
            let deadline = served.isEmpty ? idleSince + patience.idle : .max
            if HelperProcess.now >= deadline, close() { return .needless }
            if let end = turn(process, until: deadline, file: nil, succeeded) { return end }
        }
    }

    /// Serves one request, whose file is descriptor 3 of the process.
    func serveOne(
        _ asked: HelperAsked, _ process: HelperProcess, _ hello: HelperHello, file: HelperFile, succeeded: () -> Void
    ) -> End {
        _ = close()
        defer { file.close() }
        load(asked, process, hello, file: file)
        while let (id, one) = served.first {
            if one.asked.isEnded {
                process.send(HelperOrder.cancel(id))
                return .needless
            }
            if process.wasWoken() { follow(process) }
            if let end = turn(process, until: .max, file: file, succeeded) { return end }
        }
        return .needless
    }

    private func takeAdded() -> [HelperAsked] {
        inbox.withLock { inbox in
            defer { inbox.added = [] }
            return inbox.added
        }
    }

    /// Accepts no more requests, unless one has just been added.
    private func close() -> Bool {
        inbox.withLock { inbox in
            inbox.isClosed = inbox.isClosed || inbox.added.isEmpty
            return inbox.isClosed
        }
    }

    /// Several requests are in progress.
    var isShared: Bool { served.count > 1 }

    /// Ends every unfinished request. Those that the process never received are tried again.
    func fail(_ error: TransferError) {
        inbox.withLock { $0.isClosed = true }
        end(served.values.map(\.asked), error)
        served = [:]
        var unsent = error
        unsent.retryable = true
        end(takeAdded(), unsent)
    }

    private func end(_ requests: [HelperAsked], _ error: TransferError) {
        for asked in requests {
            asked.deliver(.failed(error, retryAfter: nil))
            asked.free()
        }
    }

    // MARK: Requests

    private func load(_ asked: HelperAsked, _ process: HelperProcess, _ hello: HelperHello, file: HelperFile?) {
        let call = asked.call
        if let refusal = refusal(of: call, hello) {
            asked.deliver(refusal)
            return release(asked, file)
        }
        do throws(TransferError) {
            let order = try call.loaded()
            guard asked.isServed(writesPart: file?.isPart ?? false, wake: { [weak self] in self?.wake() }) else {
                return release(asked, file)
            }
            lastID += 1
            let request = HelperRequest(scheme: scheme, offset: order.offset, hasPart: file != nil)
            served[lastID] = Served(asked: asked, request: request, loadedAt: HelperProcess.now, read: 0)
            process.send(order.load(lastID))
            asked.set(waitsForAnother: paused)
        } catch {
            asked.deliver(.failed(error, retryAfter: nil))
            release(asked, file)
        }
    }

    private func refusal(of call: HelperCall, _ hello: HelperHello) -> HelperEvent? {
        if call.payload != .none, !hello.uploads {
            return .failed(
                TransferError(.unsupported, "The helper for \(scheme) takes no request with a body."), retryAfter: nil)
        }
        return call.order.offset > 0 && !hello.resumes ? .cannotResume : nil
    }

    /// Releases the request from the process. If the process has the request's file, it must end first.
    private func release(_ asked: HelperAsked, _ file: HelperFile?) { if file == nil { asked.free() } }

    /// Does what the transfers want: sends answers, and cancels requests that nobody wants.
    private func follow(_ process: HelperProcess) {
        for (id, one) in served {
            for answer in one.asked.takeAnswers() { process.send(HelperOrder.answer(id, answer)) }
            guard one.asked.isEnded, inbox.withLock({ !$0.isClosed }) else { continue }
            process.send(HelperOrder.cancel(id))
            if lastLine < one.loadedAt { isSuspect = true }
            served[id] = nil
            one.asked.free()
        }
        pause(served.values.contains { $0.asked.isFull })
    }

    /// Stops reading while a transfer accepts no bytes. The bytes of other requests then stay in the pipe too.
    private func pause(_ isFull: Bool) {
        guard paused || isFull else { return }
        paused = isFull
        for one in served.values { one.asked.set(waitsForAnother: isFull && !one.asked.isFull) }
    }

    // MARK: Lines

    /// - Returns: nil if the process continues.
    private func turn(_ process: HelperProcess, until deadline: Int64, file: HelperFile?, _ succeeded: () -> Void)
        -> End?
    {
        let memory = file.flatMap { $0.isPart ? nil : $0 }
        // A process that writes to memory is watched even while it says nothing.
        let watched = memory == nil ? deadline : min(deadline, HelperProcess.now + HelperFile.watch)
        if paused, memory != nil { process.stop() }
        do throws(HelperViolation) {
            switch try process.turn(reads: !paused, until: process.isStopped && !paused ? 0 : watched) {
            case .nothing:
                guard let memory, !paused else { break }
                // All that it has said is passed on.
                process.goOn()
                if memory.held > HelperFile.mostHeld {
                    throw HelperViolation("no `wrote` for more than \(HelperFile.mostHeld >> 20) MiB in descriptor 3")
                }
            case .end: return .died
            case .line(let line): try take(line, process, file, succeeded)
            }
            return nil
        } catch {
            return .violated(error)
        }
    }

    private func take(
        _ line: [UInt8], _ process: HelperProcess, _ file: HelperFile?, _ succeeded: () -> Void
    ) throws(HelperViolation) {
        lastLine = HelperProcess.now
        let message: HelperMessage
        do throws(HelperViolation) {
            message = try HelperMessage(line)
        } catch {
            // A wrong line about one request fails only that request.
            guard let id = error.id, let one = served[id] else { throw error }
            one.asked.deliver(.failed(.helperProtocol(scheme, error), retryAfter: nil))
            process.send(HelperOrder.cancel(id))
            served[id] = nil
            return release(one.asked, file)
        }
        guard case .request(let id, let content) = message else { throw HelperViolation("a second hello") }
        guard var one = served[id] else { return warn(of: id) }
        let event = one.request.take(content) { file?.size ?? 0 }
        if let event { deliver(event, to: &one, process, file) }
        if event == .finished { succeeded() }
        served[id] = one.request.isOver ? nil : one
        guard one.request.isOver else {
            if one.asked.isFull { pause(true) }
            return
        }
        if case .failed(let error, _)? = event, error.code == .helperProtocol { process.send(HelperOrder.cancel(id)) }
        release(one.asked, file)
    }

    private func deliver(
        _ event: HelperEvent, to one: inout Served, _ process: HelperProcess, _ file: HelperFile?
    ) {
        switch (event, file) {
        case (.response(let response), let file?) where !file.isPart:
            one.read = response.offset
            one.asked.deliver(event)
        case (.wrote(let offset), let file?) where !file.isPart:
            while one.read < offset, !one.asked.isEnded, let bytes = file.read(from: one.read, until: offset) {
                one.read += Int64(bytes.count)
                file.free(before: one.read)
                one.asked.deliver(.data(bytes))
                // As with libcurl's bodies, little is held for a transfer that takes nothing.
                if one.asked.isFull || file.held > HelperFile.stopped { process.stop() }
                // Waiting is fine: the thread has no other work, and the bytes are in memory already.
                while one.asked.isFull, !one.asked.isEnded { usleep(2000) }
            }
        default: one.asked.deliver(event)
        }
    }

    /// A helper may still answer requests that were cancelled, but it cannot know any others.
    private func warn(of id: Int64) {
        guard id < 1 || id > lastID, !hasWarned else { return }
        hasWarned = true
        logger.warning("a helper answers what it was not asked", metadata: ["scheme": "\(scheme)", "id": "\(id)"])
    }
}

/// The file that a helper of one request writes: the part file, or a memory file for a body that goes elsewhere.
struct HelperFile: Sendable {
    /// A helper that has not named more bytes than this by `wrote` is ended.
    static let mostHeld: Int64 = 64 << 20
    /// A helper is stopped while more bytes than this wait that it has named.
    static let stopped: Int64 = 16 << 20
    /// Milliseconds between two looks at a memory file.
    static let watch: Int64 = 100

    let descriptor: Int32
    let isPart: Bool
    private let keeper: any Sendable

    /// Opens the part file and truncates it at `offset`, where the helper resumes. Blocks.
    init(_ part: PartFile, offset: Int64) throws(TransferError) {
        try part.open()
        if let found = status(of: part.fileDescriptor), found.st_size > off_t(offset) {
            try part.truncate(to: ByteCount(offset))
        }
        lseek(part.fileDescriptor, off_t(offset), SEEK_SET)
        (descriptor, isPart, keeper) = (part.fileDescriptor, true, part)
    }

    /// A memory file for the bytes from `offset` on; nil if the system has no memory.
    init?(from offset: Int64) {
        let memory = dld_memory_file()
        guard memory >= 0 else { return nil }
        lseek(memory, off_t(offset), SEEK_SET)
        (descriptor, isPart, keeper) = (memory, false, Descriptor(memory))
    }

    var size: Int64 { status(of: descriptor).map { Int64($0.st_size) } ?? 0 }

    /// The memory in bytes that the file occupies.
    var held: Int64 { status(of: descriptor).map { Int64($0.st_blocks) * 512 } ?? 0 }

    /// Gives back the memory of the bytes before `offset`.
    func free(before offset: Int64) { _ = dld_free_memory(descriptor, offset) }

    /// Gives back all memory, and makes sure that nobody takes more. A part file stays as it is.
    func close() { if !isPart { _ = dld_close_memory(descriptor) } }

    /// Returns at most 64 KiB; nil if there are none.
    func read(from offset: Int64, until end: Int64) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Int(min(64 << 10, end - offset)))
        let count = pread(descriptor, &bytes, bytes.count, off_t(offset))
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }
}
