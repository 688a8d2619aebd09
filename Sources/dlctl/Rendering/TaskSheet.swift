import TransferModel
import TransferRPC

/// Everything about one task: what `show` prints.
enum TaskSheet {
    static func render(_ task: TaskView, now: Timestamp) -> [StyledText] {
        var sheet = Sheet()
        sheet.add("id", task.id.description, .strong)
        sheet.add("name", TaskName.of(task))
        sheet.add("state", StyledText(state(task), TaskWords.tone(task.state)))
        if let error = task.error {
            sheet.add(
                "error", StyledText("\(error.code.rawValue): \(CommandWords.text(error.message, task: task.id))", .bad))
        }
        figures(task, &sheet, now: now)
        spec(task.spec, &sheet, now: now)
        response(task, &sheet)
        times(task, &sheet, now: now)
        return sheet.render()
    }

    private static func state(_ task: TaskView) -> String {
        switch task.state {
        case .running: "running, \(TaskWords.phase(task.phase))"
        case .waiting: "waiting" + (task.reason.map { " (\($0.rawValue))" } ?? "")
        case .queued, .paused, .completed, .failed, .cancelled: task.state.rawValue
        }
    }

    private static func figures(_ task: TaskView, _ sheet: inout Sheet, now: Timestamp) {
        if task.bytesToSend > 0 || task.spec.kind == .upload {
            let (sent, whole) = (ByteCount(task.bytesSent), ByteCount(task.bytesToSend))
            var done = "\(exact(sent)) of \(exact(whole))"
            if let percent = Figures.percent(sent, of: whole) { done += ", \(percent)%" }
            sheet.add("sent", done)
        }
        if task.spec.kind != .upload { received(task, &sheet) }
        sheet.add("resumed from", task.resumedFrom.map { exact(ByteCount($0)) })
        if task.rate.rawValue > 0 { sheet.add("rate", Figures.rate(task.rate)) }
        sheet.add("time left", task.eta.map(Figures.duration))
        sheet.add("file", task.file.map(Printable.text))
        sheet.add("coding", RemainingCoding.ofFile(task))
        sheet.add("sha-256", task.sha256)
        if let isVerified = task.verified, task.spec.kind == .download {
            sheet.add("verified", isVerified ? "yes, by its digest" : "no: nobody gave a digest to compare with")
        }
    }

    private static func received(_ task: TaskView, _ sheet: inout Sheet) {
        let received = ByteCount(task.bytesReceived)
        var done = exact(received)
        if task.bytesExpected >= 0 {
            let expected = ByteCount(task.bytesExpected)
            done += " of " + exact(expected)
            if let percent = Figures.percent(received, of: expected) { done += ", \(percent)%" }
        } else if !task.state.isFinal {
            done += " of an unknown length"
        }
        sheet.add("received", done)
    }

    private static func exact(_ count: ByteCount) -> String {
        count.rawValue < 1024 ? Figures.bytes(count) : "\(Figures.bytes(count)) (\(count.rawValue))"
    }

    private static func spec(_ spec: TaskSpec, _ sheet: inout Sheet, now: Timestamp) {
        sheet.add("url", spec.url.map(Printable.text))
        sheet.add("method", spec.method.map(Printable.text))
        sheet.add("source", spec.source.map { Printable.text($0.path) })
        sheet.add("protocol", spec.uploadProtocol.map(Printable.text))
        sheet.add("body", spec.body?.file.map(Printable.text))
        for mirror in spec.mirrors ?? [] { sheet.add("mirror", Printable.text(mirror)) }
        let destination = spec.destination
        sheet.add("saves as", destination?.path.map(Printable.text))
        sheet.add("saves into", destination?.directory.map(Printable.text))
        sheet.add("on conflict", spec.conflictPolicy?.rawValue)
        sheet.add("checksum", spec.checksum.map { "\($0.algorithm.rawValue):\($0.value)" })
        sheet.add("size", spec.size.map(exact))
        sheet.add(
            "pieces", spec.pieces.map { "\(exact($0.length)) each, \($0.algorithm.rawValue)" })
        for header in spec.headers ?? [] { sheet.add("header", Printable.text("\(header.name): \(header.value)")) }
        sheet.add("user", spec.username.map(Printable.text))
        sheet.add("netrc", spec.netrc.map(Printable.text))
        sheet.add("proxy", spec.proxy.map(Printable.text))
        sheet.add("ca file", spec.caFile.map(Printable.text))
        sheet.add("certificate", spec.clientCertificate.map { Printable.text($0.certificate) })
        sheet.add("limit", spec.rateLimit.map(Figures.limit))
        sheet.add("priority", spec.priority.map(priority))
        sheet.add("connections", spec.connections.map(String.init))
        sheet.add("begins", spec.earliestBeginAt.map { LocalTime.text($0, seenFrom: now) })
        sheet.add("deadline", spec.deadlineAt.map { LocalTime.text($0, seenFrom: now) })
        sheet.add("description", spec.description.map(Printable.text))
        sheet.add("tags", spec.tags.map { Printable.text($0.joined(separator: ", ")) })
        sheet.add("client token", spec.clientToken.map(Printable.text))
    }

    static func priority(_ priority: TaskPriority) -> String {
        switch priority {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        default: "\(priority.value)"
        }
    }

    private static func response(_ task: TaskView, _ sheet: inout Sheet) {
        guard let response = task.response else { return }
        if let status = response.status {
            sheet.add("status", "\(status) \(Printable.text(response.statusText ?? ""))")
        }
        // Credentials in its query are masked, in the task's own they are not.
        if response.url.prefix(while: { $0 != "?" }) != task.spec.url?.prefix(while: { $0 != "?" }) {
            sheet.add("answered by", Printable.text(response.url))
        }
        sheet.add("type", response.mimeType.map(Printable.text))
        sheet.add("charset", response.textEncoding.map(Printable.text))
        for header in response.headers {
            sheet.add("  \(Printable.text(header.name, limit: 30))", Printable.text(header.value))
        }
        sheet.add("answer", response.body?.text.map(Self.oneLine))
    }

    private static func oneLine(_ text: String) -> String {
        Printable.text(text.split(whereSeparator: \.isNewline).joined(separator: " "), limit: 500)
    }

    private static func times(_ task: TaskView, _ sheet: inout Sheet, now: Timestamp) {
        sheet.add("session", Printable.text(task.session))
        sheet.add("owner", "uid \(task.owner)")
        sheet.add("attempts", String(task.attempts))
        sheet.add("next attempt", task.nextAttemptAt.map { LocalTime.text($0, seenFrom: now) })
        sheet.add("added", LocalTime.text(task.createdAt, seenFrom: now))
        sheet.add("started", task.startedAt.map { LocalTime.text($0, seenFrom: now) })
        sheet.add("finished", task.finishedAt.map { LocalTime.text($0, seenFrom: now) })
    }
}
