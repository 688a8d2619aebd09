import TransferModel
import TransferRPC

/// Answers a user's first questions about a task: what it does or why it does nothing, what to do, and where its file
/// is. `show` and `explain` begin with it.
struct TaskSummary {
    var task: TaskView
    /// When its state began; nil if the event log no longer shows that.
    var since: Timestamp?
    /// The task's question.
    var question: DecisionView?
    /// The task's session, if the task waits.
    private let session: SessionView?
    private let asker: Asker
    let events: [EventView]
    /// The number of attempts, without those that ended with a question.
    private let attempts: Int
    var now: Timestamp

    /// Events that begin another state of a task that has not ended. The newest one shows since when the task is in its
    /// state.
    static let beginnings: [EventType] = [.taskAdded, .taskQueued, .taskStarted, .taskWaiting, .taskPaused]

    /// - Parameters:
    ///   - events: the task's events, oldest first.
    ///   - asker: the user who reads it.
    init(
        _ task: TaskView, events: [EventView], asking question: DecisionView? = nil, in session: SessionView? = nil,
        for asker: Asker = Asker(), now: Timestamp
    ) {
        self.task = task
        self.question = question
        self.session = session
        self.asker = asker
        self.events = events
        self.now = now
        attempts = max(0, task.attempts - Self.questions(events))
        since = task.state.isFinal ? task.finishedAt : events.last { Self.beginnings.contains($0.type) }?.time
    }

    /// Events that show which attempts ended with a question.
    static let questionings: [EventType] = [.taskWaiting, .taskDecision]

    /// How often a run of the task stopped to ask.
    private static func questions(_ events: [EventView]) -> Int {
        let waits = events.count {
            let reason = $0.payload["reason"]?.stringValue.flatMap(WaitReason.init(rawValue:))
            return $0.type == .taskWaiting && reason?.asks == true
        }
        // A question before the first attempt did not end an attempt.
        return waits - events.count { $0.payload["kind"]?.stringValue == DecisionKind.begin.rawValue }
    }

    /// - Parameter width: the width of the terminal; nil for lines of any length.
    func render(width: Int?) -> [StyledText] {
        var sheet = Sheet(gap: 1)
        sheet.add("Now:", StyledText(task.state.rawValue, task.state.tone) + StyledText(standing))
        if let error = task.error, task.state != .completed {
            let isCause = task.state == .waiting || task.state == .failed
            sheet.add(
                isCause ? "Why:" : "Last error:",
                StyledText("\(error.code.rawValue): ", .bad)
                    + StyledText(CommandWords.text(error.message, task: task.id)))
        }
        if let question {
            sheet.add("Asks:", StyledText(DecisionLines.sentence(question.question)))
            if let other = DecisionLines.unanswered(question.question, now: now) {
                sheet.add("Else:", StyledText(other))
            }
            sheet.add("Do:", StyledText("Answer question \(question.decision):"))
            for command in DecisionLines.commands(question) { add(command, &sheet) }
        } else if let advice {
            sheet.add("Do:", StyledText(advice.sentence))
            for command in advice.commands { add(command, &sheet) }
        }
        places(&sheet)
        return [StyledText("\(task.id)  \(TaskName.of(task))", .strong)] + sheet.render(width: width)
    }

    var advice: Advice? {
        Explanation.advice(task, events: events, in: session, mayConfigure: asker.mayConfigure)
    }

    private func add(_ command: String, _ sheet: inout Sheet) {
        sheet.add("", StyledText("  " + asker.command(command), .accent), isVerbatim: true)
    }

    // MARK: Now

    private var standing: String {
        switch task.state {
        case .running: running
        case .queued: queued
        case .waiting: waiting
        case .paused: lasting + (held.map { " with \($0)" } ?? "") + "."
        case .completed: "\(ago): \(Figures.bytes(task.moved))\(source)\(verification)."
        case .failed: "\(ago) after \(Figures.count(attempts, "attempt"))\(kept)."
        case .cancelled: "\(ago)\(kept)."
        }
    }

    private var running: String {
        var text = "\(lasting) (\((task.phase ?? .connecting).words))"
        var figures = (task.bytesDecoded.map { Figures.bytes(ByteCount($0)) } ?? held).map { [$0] } ?? []
        if task.rate.rawValue > 0 { figures.append(Figures.rate(task.rate)) }
        if let eta = task.eta { figures.append("\(Figures.duration(eta)) left") }
        let active = (task.segments ?? []).filter(\.active)
        if active.count > 1 {
            let mirrors = Set(active.compactMap(\.url)).count
            figures.append("\(active.count) connections" + (mirrors > 1 ? " to \(mirrors) mirrors" : ""))
        }
        if !figures.isEmpty { text += ": " + figures.joined(separator: ", ") }
        return text + "." + (task.explanation.map { " " + Printable.text($0) } ?? "")
    }

    private var queued: String {
        var sentences: [String] = []
        if task.queueReason == .sessionPaused {
            sentences.append(paused)
        } else if let explanation = task.explanation {
            sentences.append(Self.withoutCommands(Printable.text(explanation)))
        } else {
            sentences.append("It starts as soon as the tasks before it have started.")
        }
        if let next = task.nextAttemptAt { sentences.append("Next try at \(LocalTime.text(next, seenFrom: now)).") }
        return "\(lasting). " + sentences.joined(separator: " ") + here
    }

    /// Removes the commands, because the advice has them on separate lines.
    private static func withoutCommands(_ explanation: String) -> String {
        guard let command = explanation.firstRange(of: ". dlctl ") else { return explanation }
        return String(explanation[..<command.lowerBound]) + "."
    }

    private var waiting: String {
        var text = lasting
        if let reason = task.reason, reason != .retry {
            text = (since == nil ? "" : " \(age)") + " for \(reason == .schedule ? "its time" : reason.words)"
        }
        if attempts > 0 { text += ", after \(Figures.count(attempts, "attempt"))" }
        if session?.paused == true { return text + ". " + paused + here }
        if let next = task.nextAttemptAt {
            let time = LocalTime.text(next, seenFrom: now)
            switch task.reason {
            case .disk?, .network?: text += "; tried again when it is back, at the latest at \(time)"
            case .schedule?: text += "; starts at \(time)"
            case .decision?: text += ", until \(time) at the latest"
            case .retry?, .authentication?, .metered?, .power?, .portal?, nil: text += "; tried again at \(time)"
            }
        }
        return text + "." + here
    }

    private var paused: String { "Its session \"\(Printable.text(task.session))\" is paused." }

    /// ` for 3m 20s`
    private var lasting: String { since == nil ? "" : " for \(age)" }

    private var ago: String { since == nil ? "" : " \(age) ago" }

    private var age: String { since.map { Figures.duration(now.since($0)) } ?? "" }

    /// `1.2 MiB of 4.8 MiB (25%)`; nil if nothing has been transferred.
    private var held: String? {
        let part = task.moved
        guard part.rawValue > 0 else { return nil }
        guard let whole = task.whole, whole.rawValue > 0 else { return Figures.bytes(part) }
        return "\(Figures.bytes(part)) of \(Figures.bytes(whole)) (\(Figures.percent(part, of: whole) ?? 0)%)"
    }

    private var here: String {
        guard let held else { return "" }
        if task.isUpload { return " \(held) is sent." }
        // Nobody knows what is left on a disk that is not there.
        return task.error?.code == .diskIO ? " \(held) was received." : " \(held) is here."
    }

    /// What `retry` starts with.
    private var kept: String {
        guard task.spec.kind == .download else { return "" }
        return "; " + (held.map { "\($0) is kept" } ?? "nothing of it is kept")
    }

    /// ` from https://mirror/f`, if the file has mirrors and the answer did not come from the task's own URL.
    private var source: String {
        guard task.spec.mirrors?.isEmpty == false, let url = task.response?.url,
            url.prefix(while: { $0 != "?" }) != task.spec.url?.prefix(while: { $0 != "?" })
        else { return "" }
        return " from \(Printable.text(url))"
    }

    private var verification: String {
        guard task.spec.kind == .download, let isVerified = task.verified else { return "" }
        return isVerified ? ", verified by its digest" : ", not verified: no digest was given"
    }

    // MARK: Places

    private func places(_ sheet: inout Sheet) {
        switch task.spec.kind {
        case .download: sheet.add("File:", file)
        case .upload:
            sheet.add(
                "From:", task.spec.source.map { Printable.text($0.path) } ?? task.spec.body?.file.map(Printable.text))
            sheet.add("To:", task.spec.url.map(Printable.text))
        case .data:
            if task.state == .completed {
                sheet.add("Answer:", StyledText(answer))
                add("dlctl fetch \(task.id)", &sheet)
            }
        }
    }

    private var answer: String {
        let status = task.response?.status.map { "status \($0), " } ?? ""
        return "\(status)\(Figures.bytes(ByteCount(task.bytesReceived))), kept with the task. To print it:"
    }

    private var file: String? {
        if let file = task.file {
            return Printable.text(file) + (remainingCoding.map { " (\($0))" } ?? "")
        }
        guard let planned = plannedFile else { return nil }
        return task.state.isFinal ? "none; a retry saves it as \(planned)" : "\(planned) (when it is complete)"
    }

    /// RFC 9110 section 18.6. Other words in that field say nothing about the bytes.
    private static let codings: Set<String> = [
        "gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip",
        "aes128gcm", "xz", "lzma", "bzip2",
    ]

    /// The codings that the daemon decodes when it delivers a file.
    private static let undoneCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd", "x-zstd"]

    /// All codings of the answer, innermost first.
    private var codings: [String] {
        (task.response?.headers ?? []).filter { $0.name.lowercased() == "content-encoding" }
            .flatMap { $0.value.split(separator: ",") }
            .map { String($0.filter { $0 != " " && $0 != "\t" }).lowercased() }
            .filter(Self.codings.contains)
    }

    /// Why the name of a delivered file shows a coding; nil if it has none.
    private var remainingCoding: String? {
        guard task.spec.kind == .download, task.file != nil else { return nil }
        var codings = codings
        while let outermost = codings.last, Self.undoneCodings.contains(outermost) { codings.removeLast() }
        guard !codings.isEmpty else { return nil }
        return
            "the server sent it coded (\(codings.joined(separator: ", "))), which dld does not decode; its name says so"
    }

    /// The name that the answer suggests. An error answer suggests only the name of the error page, so it is ignored.
    private var suggestedName: String? {
        guard let response = task.response, response.status.map({ (200..<300).contains($0) }) ?? true else {
            return nil
        }
        return response.suggestedFilename
    }

    private var plannedFile: String? {
        guard let destination = task.spec.destination else { return nil }
        if let path = destination.path { return Printable.text(path) }
        guard let folder = destination.directory else { return nil }
        guard let name = destination.filename ?? suggestedName else {
            return "a file in \(Printable.text(folder)), named by the server"
        }
        return Printable.text(folder == "/" ? folder + name : folder + "/" + name)
    }
}
