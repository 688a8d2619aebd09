import CLinux
import Glibc
import Synchronization
import Threading
import TransferCore
import TransferModel

/// One exchange that needs no network: on a thread of its own, a file: URL is copied or a data: URL decoded.
///
/// It writes through the same sink as any body, so checkpoints, failures and the end are those of a download.
final class LocalExchange: Sendable {
    /// Bytes between two checks whether the exchange was cancelled.
    private static let slice = 8 << 20

    private struct Source {
        var descriptor: Int32 = -1
        var status = stat()
        var bytes: [UInt8] = []
        /// nil if only reading finds the file's end.
        var size: Int64?
        var mediaType: String?
    }

    private let exchange: Exchange
    private let part: PartFile?
    private let context: TransferContext
    private let files: FileSide
    private let completion: @Sendable (ExchangeOutcome) -> Void
    private let cancelled = Atomic<Bool>(false)

    init(
        exchange: Exchange, part: PartFile?, context: TransferContext, files: FileSide,
        report: @escaping @Sendable (ExchangeOutcome) -> Void
    ) {
        self.exchange = exchange
        self.part = part
        self.context = context
        self.files = files
        completion = report
    }

    func cancel() { cancelled.store(true, ordering: .relaxed) }
    private var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// Starts the exchange; a shutdown waits for its end.
    func start() {
        files.ledger.add(self)
        if !NamedThread.start("dld-local", { self.run() }) {
            refuse(.local(errno: EAGAIN, operation: "start a thread"))
        }
    }

    private func report(_ outcome: ExchangeOutcome) {
        files.ledger.remove(self)
        completion(outcome)
    }

    private func refuse(_ end: ExchangeOutcome.End, head: ResponseHead? = nil) {
        report(ExchangeOutcome(end: end, head: head, offset: exchange.startOffset))
    }

    private func run() {
        do {
            try isCancelled ? refuse(.aborted) : answer(exchange.url.lowercased().hasPrefix("data:") ? data() : file())
        } catch let failure as LocalFailure {
            refuse(.local(errno: failure.errno, operation: failure.operation))
        } catch let error as TransferError {
            refuse(.stopped(.failure(error, retryAfter: nil)))
        } catch {
            refuse(.transport(code: 3, message: "\(error)"))
        }
    }

    // MARK: Sources

    private func data() throws -> Source {
        let content = try DataURL(exchange.url)
        return Source(bytes: content.bytes, size: Int64(content.bytes.count), mediaType: content.mediaType)
    }

    /// Only regular files: a pipe or device has no end and no offset.
    private func file() throws -> Source {
        guard let path = exchange.network.localFile ?? FilePath.decode(exchange.url) else {
            throw LocalFailure("open the source file", errno: EINVAL)
        }
        var source = Source()
        source.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard source.descriptor >= 0 else { throw LocalFailure("open the source file") }
        guard fstat(source.descriptor, &source.status) == 0, source.status.st_mode & S_IFMT == S_IFREG else {
            close(source.descriptor)
            throw LocalFailure("open the source file", errno: EINVAL)
        }
        let length = Int64(source.status.st_size)
        source.size = UploadSource.hasItsLength(source.descriptor, length) ? length : nil
        return source
    }

    // MARK: The answer

    private func answer(_ source: Source) {
        let isFile = source.descriptor >= 0
        let head = ResponseHead(
            url: isFile ? exchange.url : "data:",
            headers: source.mediaType.map { [HeaderField("Content-Type", $0)] } ?? [],
            size: source.size.map { ByteCount($0) },
            modificationTime: isFile ? Int64(source.status.st_mtim.tv_sec) : nil)
        let verdict = exchange.judge.judge(head)
        context.observer.transferResponded(head, verdict: verdict)
        switch verdict {
        case .stop(let reason):
            leave(source)
            refuse(.stopped(reason), head: head)
        case .accept(let acceptance):
            guard exchange.kind == .download, let part else {
                leave(source)
                return refuse(.finished, head: head)
            }
            accept(acceptance, head, source, part)
        }
    }

    private func leave(_ source: Source) { if source.descriptor >= 0 { close(source.descriptor) } }

    private func accept(_ acceptance: Acceptance, _ head: ResponseHead, _ source: Source, _ part: PartFile) {
        context.counters.setTransferring(true)
        context.counters.setExpected((acceptance.total ?? head.size)?.rawValue ?? -1)
        guard acceptance.truncate, part.mayHoldBytes else { return copy(acceptance, head, source, part) }
        let checkpoint = Checkpoint(part, acceptance, offset: acceptance.offset)
        context.observer.transferRestarting(checkpoint) {
            if !NamedThread.start("dld-local", { self.copy(acceptance, head, source, part) }) {
                self.leave(source)
                self.refuse(.local(errno: EAGAIN, operation: "start a thread"), head: head)
            }
        }
    }

    private func copy(_ acceptance: Acceptance, _ head: ResponseHead, _ source: Source, _ part: PartFile) {
        let sink = files.sink(part, acceptance, context) {}
        sink.begin()
        let end = source.descriptor >= 0 ? copyFile(source, to: sink, head) : copyBytes(source.bytes, to: sink)
        leave(source)
        let start = acceptance.offset
        sink.finish(syncing: end != .finished) { [self] ending in
            var outcome = ExchangeOutcome(
                end: end, head: head, offset: ByteCount(ending.offset), received: ByteCount(ending.offset) - start)
            if let failure = ending.failure { outcome.end = .local(errno: failure.errno, operation: failure.operation) }
            report(outcome)
        }
    }

    private func copyBytes(_ bytes: [UInt8], to sink: PartSink) -> ExchangeOutcome.End {
        let start = Int(min(max(0, sink.start), Int64(bytes.count)))
        bytes.withUnsafeBytes { sink.append($0.baseAddress.map { $0 + start }, bytes.count - start) }
        return .finished
    }

    private func copyFile(_ source: Source, to sink: PartSink, _ head: ResponseHead) -> ExchangeOutcome.End {
        let size = source.size ?? .max
        var offset = sink.start
        // A file without a known length is generated while it is read.
        var byKernel = source.size != nil
        while offset < size, sink.failure == nil {
            if isCancelled { return .aborted }
            let wanted = Int(min(Int64(Self.slice), size - offset))
            guard sink.isWhole() else { break }
            if byKernel {
                let count = dld_copy_range(source.descriptor, offset, sink.part.fileDescriptor, offset, wanted)
                if count > 0 {
                    offset += Int64(count)
                    sink.wrote(offset, crcOf: nil, count)
                    continue
                }
                if count < 0, [ENOSPC, EDQUOT, EFBIG].contains(errno) {
                    sink.fail(LocalFailure("pwrite"))
                    return .finished
                }
                // Other file systems or kernels: read and write.
                byKernel = false
            }
            switch read(source, offset, wanted, sink) {
            case .success(0): return source.size == nil && isUnchanged(source) ? .finished : changed
            case .success(let count): offset += Int64(count)
            case .failure(let failure): return .local(errno: failure.errno, operation: failure.operation)
            }
        }
        return isUnchanged(source) ? .finished : changed
    }

    private func read(_ source: Source, _ offset: Int64, _ wanted: Int, _ sink: PartSink) -> Result<Int, LocalFailure> {
        let buffer = Buffer(capacity: min(wanted, 1 << 20))
        let count = pread(source.descriptor, buffer.bytes, buffer.capacity, off_t(offset))
        guard count >= 0 else { return .failure(LocalFailure("read the source file")) }
        sink.append(buffer.bytes, count)
        return .success(count)
    }

    /// Partial file (CURLE_PARTIAL_FILE): the next attempt compares size and time again.
    private var changed: ExchangeOutcome.End { .transport(code: 18, message: "the file changed while it was copied") }

    private func isUnchanged(_ source: Source) -> Bool {
        var status = stat()
        return fstat(source.descriptor, &status) == 0 && status.st_size == source.status.st_size
            && status.st_mtim.tv_sec == source.status.st_mtim.tv_sec
            && status.st_mtim.tv_nsec == source.status.st_mtim.tv_nsec
    }
}

/// The path in a file: URL (RFC 8089).
enum FilePath {
    /// nil if it names another host, or has no absolute path.
    static func decode(_ url: String) -> String? {
        guard url.prefix(5).lowercased() == "file:" else { return nil }
        var rest = url.dropFirst(5).prefix { $0 != "#" && $0 != "?" }
        if rest.hasPrefix("//") {
            let host = rest.dropFirst(2).prefix { $0 != "/" }
            guard host.isEmpty || host.lowercased() == "localhost" else { return nil }
            rest = rest.dropFirst(2 + host.count)
        }
        guard rest.hasPrefix("/") else { return nil }
        var bytes: [UInt8] = []
        var source = Array(rest.utf8)[...]
        while let byte = source.popFirst() {
            if byte == UInt8(ascii: "%") {
                let digits = String(decoding: source.prefix(2), as: UTF8.self)
                guard digits.utf8.count == 2, let value = UInt8(digits, radix: 16), value != 0 else { return nil }
                bytes.append(value)
                source = source.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
