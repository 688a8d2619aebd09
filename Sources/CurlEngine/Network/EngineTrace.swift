import CCurl
import TransferModel

/// Where libcurl's own messages about a task's exchanges go (CURLOPT_DEBUGFUNCTION(3)). They contain secrets.
package struct EngineTrace: Sendable {
    package enum Kind: Sendable {
        /// What libcurl does.
        case note
        /// A header line, or an FTP command, that was sent or received.
        case sent, received
    }

    /// Whether anybody reads the messages; asked once for each request.
    package var isWanted: @Sendable () -> Bool
    /// Called on the network thread; must not block.
    package var write: @Sendable (_ task: TaskID, _ kind: Kind, _ line: String) -> Void

    package init(
        isWanted: @escaping @Sendable () -> Bool,
        write: @escaping @Sendable (_ task: TaskID, _ kind: Kind, _ line: String) -> Void
    ) {
        self.isWanted = isWanted
        self.write = write
    }

    /// Has libcurl report the transfer's request; bodies are left out.
    func follow(_ transfer: Transfer, on easy: UnsafeMutableRawPointer) -> CURLcode {
        dld_easy_set_trace(easy, heard, Unmanaged.passUnretained(transfer).toOpaque())
    }
}

private let heard: dld_trace_callback = { _, kind, bytes, count, context in
    guard let bytes, let context else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    let kinds: [UInt32: EngineTrace.Kind] = [
        CURLINFO_TEXT.rawValue: .note, CURLINFO_HEADER_OUT.rawValue: .sent, CURLINFO_HEADER_IN.rawValue: .received,
    ]
    guard let kind = kinds[kind.rawValue], let trace = transfer.reactor?.trace else { return 0 }
    let text = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    for line in text.split(whereSeparator: \.isNewline) { trace.write(transfer.context.task, kind, String(line)) }
    return 0
}
