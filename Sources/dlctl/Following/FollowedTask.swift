import TransferModel
import TransferRPC

/// What a live display knows about one task: its snapshot, kept up to date by events.
struct FollowedTask: Hashable, Sendable {
    var id: TaskID
    /// The displayed name, already safe for a terminal.
    var name: String
    /// Whether the server may still name the file.
    var isNameOpen = false
    var state: TaskState
    var phase: TaskPhase?
    var reason: WaitReason?
    /// Bytes are sent: `received` and `expected` then count sent bytes and bytes to send.
    var isUpload = false
    var received: ByteCount = 0
    /// nil if unknown.
    var expected: ByteCount?
    /// nil unless a body is being decoded.
    var decoded: ByteCount?
    var rate: ByteRate = 0
    /// nil if unknown.
    var remaining: Seconds?
    var nextAttemptAt: Timestamp?
    /// Why the task is queued.
    var explanation: String?
    var error: TransferError?
    /// The status of the server's last answer.
    var status: Int64?
    /// The offset from which the current attempt, or the last one, resumed.
    var resumedFrom: ByteCount = 0
    var file: String?
    var startedAt: Timestamp?
    var finishedAt: Timestamp?
    /// The duration of the transfer, as reported by the daemon.
    var duration: Seconds?
    /// The task was removed from the history while it was followed.
    var isRemoved = false

    init(id: TaskID, name: String, state: TaskState) {
        self.id = id
        self.name = name
        self.state = state
    }

    /// The task waits for its owner's decision.
    var asks: Bool {
        state == .running && phase == .deciding
            || state == .waiting && reason?.asks == true
    }
    /// Nothing more will happen to it without a command.
    var isOver: Bool { state.isFinal || isRemoved }
    var hasFailed: Bool {
        switch state {
        case .failed, .cancelled: true
        case .queued, .running, .waiting, .paused, .completed: isRemoved && state != .completed
        }
    }
}

/// Chooses the shortest name by which a user recognizes a task.
enum TaskName {
    static func of(
        file: String?, destination: Destination?, source: String? = nil, suggested: String?, url: String?,
        description: String?
    ) -> String {
        let name =
            nonEmpty(file.map(PathText.lastComponent))
            ?? nonEmpty(source.map(PathText.lastComponent))
            ?? nonEmpty(destination?.path.map(PathText.lastComponent))
            ?? nonEmpty(destination?.filename)
            ?? nonEmpty(description)
            ?? nonEmpty(suggested)
            ?? url.map(ofURL)
            ?? "?"
        return Printable.text(name)
    }

    /// The last path component without query and fragment, or the host if the path has none.
    static func ofURL(_ url: String) -> String {
        if url.lowercased().hasPrefix("data:") { return DisplayWidth.end(url, 24) }
        let plain = url.prefix { $0 != "?" && $0 != "#" }
        let rest = plain.firstRange(of: "://").map { plain[$0.upperBound...] } ?? plain
        let parts = rest.split(separator: "/")
        guard let last = parts.last else { return url }
        if parts.count == 1 { return String(last.split(separator: "@").last ?? last) }
        return decoded(String(last))
    }

    /// Decodes `%41` to `A`. Returns the text unchanged if the result is not UTF-8.
    private static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self) ?? text
    }

    private static func nonEmpty(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
}

// MARK: - Wire

extension FollowedTask {
    init(_ view: TaskView) {
        self.init(id: view.id, name: TaskName.of(view), state: view.state)
        isNameOpen = TaskName.isOpen(view.spec)
        phase = view.phase
        reason = view.reason
        isUpload = view.isUpload
        received = view.moved
        expected = view.whole
        decoded = view.bytesDecoded.map { ByteCount($0) }
        rate = view.rate
        remaining = view.eta
        nextAttemptAt = view.nextAttemptAt
        explanation = view.explanation
        error = view.error
        file = view.file
        startedAt = view.startedAt
        finishedAt = view.finishedAt
        status = view.response?.status.map { Int64($0) }
        resumedFrom = ByteCount(view.resumedFrom ?? 0)
        // After several attempts, the duration of the last one is unknown.
        if let startedAt, let finishedAt, view.attempts == 1 { duration = finishedAt.since(startedAt) }
    }
}

extension TaskName {
    static func of(_ view: TaskView) -> String {
        // An error page suggests a name too, but not that of the wanted file.
        let suggested = view.response.flatMap { ($0.status ?? 200) < 400 ? $0.suggestedFilename : nil }
        return of(
            file: view.file, destination: view.spec.destination, source: view.spec.source?.path,
            suggested: view.spec.kind == .upload ? nil : suggested, url: view.spec.url,
            description: view.spec.description)
    }

    /// Nobody has named the file, so the server's answer will name it.
    static func isOpen(_ spec: TaskSpec) -> Bool {
        spec.kind == .download && spec.destination?.path == nil && spec.destination?.filename == nil
            && spec.description == nil
    }

    static func of(_ spec: TaskSpec) -> String {
        of(
            file: nil, destination: spec.destination, source: spec.source?.path, suggested: nil, url: spec.url,
            description: spec.description)
    }
}
